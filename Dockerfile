# podctl's image for registries. `make image` builds one without Docker and without
# pulling anything: the binary that hack/build makes, from scratch, so without the CA
# certificates and time zones of distroless, which nothing in examples/fleet needs.
#
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/podctl:TAG --push .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOWORK=off
COPY go.mod go.sum ./
RUN go mod download
# .git too: it is where the go command takes the version from.
COPY . .
# The flags are those of hack/build.
ARG TARGETOS
ARG TARGETARCH
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w -buildid=' -o /podctl ./cmd/podctl

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /podctl /usr/local/bin/podctl
# The inspector runs as root by its manifest: it reads the files of other users.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/podctl"]
