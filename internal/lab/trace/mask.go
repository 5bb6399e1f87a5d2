package trace

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod/secret"
)

// messageJSON returns a message as encoding/json reads the protobuf JSON of it, without
// secrets unless they are asked for; nil for no message. It masks what a recording masks, and
// what only requests and streams have.
func messageJSON(m proto.Message, secrets bool) any {
	if m == nil {
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return nil
	}
	showTexts(tree)
	if secrets {
		return tree
	}
	if fields, ok := tree.(map[string]any); ok {
		parseInfo(fields)
	}
	hideFields(tree)
	return secret.NewMasker(secret.Known(tree), nil).Tree(tree)
}

// showTexts replaces the values of environment variables, which are base64 in protobuf
// JSON, by the texts that they are.
func showTexts(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		envs, _ := tree["envs"].([]any)
		for _, v := range envs {
			variable, _ := v.(map[string]any)
			value, _ := variable["value"].(string)
			if text, err := base64.StdEncoding.DecodeString(value); err == nil && utf8.Valid(text) && value != "" {
				variable["value"] = string(text)
			}
		}
		for _, value := range tree {
			showTexts(value)
		}
	case []any:
		for _, value := range tree {
			showTexts(value)
		}
	}
}

// maskStatus returns the error of a call, without the arguments of the command that the
// call runs, the variables of the container that it creates, and what looks like a secret.
func maskStatus(status string, request proto.Message, secrets bool) string {
	if secrets {
		return status
	}
	var values [][]byte
	if command, ok := request.(interface{ GetCmd() []string }); ok && len(command.GetCmd()) > 1 {
		for _, argument := range command.GetCmd()[1:] {
			values = append(values, []byte(argument))
		}
	}
	if create, ok := request.(*runtimeapi.CreateContainerRequest); ok {
		for _, variable := range create.GetConfig().GetEnvs() {
			values = append(values, variable.GetValue())
		}
	}
	return secret.NewMasker(values, nil).Text(status)
}

// parseInfo replaces what a runtime adds to a verbose status, which is JSON in texts, by trees, so
// that what is secret in it is found.
func parseInfo(answer map[string]any) {
	info, _ := answer["info"].(map[string]any)
	for key, value := range info {
		var parsed any
		if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &parsed) == nil {
			info[key] = parsed
		}
	}
}

// hideFields masks the fields that may hold what a container knows: output and arguments of
// commands, and the URLs of streams, which are all that is needed to connect.
func hideFields(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			switch strings.ToLower(key) {
			case "stdout", "stderr", "cmd", "url":
				if _, isFlag := value.(bool); !isFlag {
					tree[key] = secret.Placeholder
					continue
				}
			}
			hideFields(value)
		}
	case []any:
		for _, value := range tree {
			hideFields(value)
		}
	}
}
