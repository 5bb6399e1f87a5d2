package trace

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod/secret"
)

// messageJSON returns a message as encoding/json reads the protobuf JSON of it, without
// secrets unless they are asked for; nil for no message.
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
	tree = parseInfo(tree)
	masked, all := secret.AnswerAndValues(tree, func(string) bool { return true })
	if len(all) == 0 {
		return masker{}.mask(masked)
	}
	tree, named := secret.AnswerAndValues(tree, secret.NamesOf(nil))
	h := masker{texts: maskOf(named), arguments: maskOf(all)}
	return h.mask(tree)
}

// maskOf masks values, and the texts that are base64 in them: that is how encoding/json
// writes the values of variables, which are bytes in the CRI.
func maskOf(values [][]byte) *secret.Mask {
	for _, v := range values {
		if text, err := base64.StdEncoding.DecodeString(string(v)); err == nil && utf8.Valid(text) {
			values = append(values, text)
		}
	}
	return (*secret.Mask)(nil).With(values, nil)
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
// call runs, the variables of the container that it creates, and the users of URLs.
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
	return maskText(status, (*secret.Mask)(nil).With(values, nil))
}

// userOfURL is the user, and the password, of a URL in a text.
var userOfURL = regexp.MustCompile(`://[^/\s]+@`)

// maskText returns a text without the values of a mask, and without the users of URLs.
func maskText(text string, m *secret.Mask) string {
	return userOfURL.ReplaceAllString(m.Text(text), "://"+secret.Placeholder+"@")
}

// parseInfo returns a tree with what a runtime adds to a verbose status, which is JSON in
// texts, as trees, so that what is secret in it is found.
func parseInfo(tree any) any {
	answer, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	info, ok := answer["info"].(map[string]any)
	if !ok {
		return tree
	}
	answer, info = maps.Clone(answer), maps.Clone(info)
	for key, value := range info {
		var parsed any
		if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &parsed) == nil {
			info[key] = parsed
		}
	}
	answer["info"] = info
	return answer
}

// maskedFields are fields, in lower case, that are secrets or may hold what a container knows:
// credentials of registries, output and arguments of commands, and the URLs of streams,
// which are all that is needed to connect.
var maskedFields = map[string]bool{
	"password": true, "auth": true, "identitytoken": true, "registrytoken": true,
	"stdout": true, "stderr": true, "cmd": true, "url": true,
}

// masker masks the fields, variables and texts of a request and its answer that may be secret.
type masker struct {
	texts     *secret.Mask // values of variables that are named as secrets
	arguments *secret.Mask // values of all variables
}

// mask returns a copy of a tree without the values of maskedFields and of environment
// variables, any of which may be from a Secret, and without those values in the command
// lines of containers, which are expanded with them.
func (h masker) mask(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		masked := make(map[string]any, len(tree))
		for key, value := range tree {
			masked[key] = h.field(strings.ToLower(key), value)
		}
		return masked
	case []any:
		return each(tree, h.mask)
	case string:
		return maskText(tree, h.texts)
	}
	return tree
}

func (h masker) field(key string, value any) any {
	list, isList := value.([]any)
	_, isText := value.(string)
	switch {
	case maskedFields[key] && (isText || isList), key == "headers": // for registries
		return secret.Placeholder
	case (key == "envs" || key == "env") && isList:
		return each(list, maskVariable)
	case (key == "args" || key == "command") && isList:
		return each(list, func(argument any) any {
			if text, ok := argument.(string); ok {
				return maskText(text, h.arguments)
			}
			return h.mask(argument)
		})
	}
	return h.mask(value)
}

func each(list []any, f func(any) any) []any {
	mapped := make([]any, len(list))
	for i, value := range list {
		mapped[i] = f(value)
	}
	return mapped
}

// maskVariable returns an environment variable without its value: NAME=VALUE, or an object
// with a key or a name.
func maskVariable(variable any) any {
	switch v := variable.(type) {
	case string:
		name, _, _ := strings.Cut(v, "=")
		return name + "=" + secret.Placeholder
	case map[string]any:
		masked := maps.Clone(v)
		masked["value"] = secret.Placeholder
		return masked
	}
	return secret.Placeholder
}
