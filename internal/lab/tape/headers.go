package tape

// headers returns the values of the headers for registries in containerd's configuration.
func headers(tree any) (values [][]byte) {
	switch tree := tree.(type) {
	case map[string]any:
		registry, _ := tree["registry"].(map[string]any)
		all, _ := registry["headers"].(map[string]any)
		for _, list := range all {
			texts, _ := list.([]any)
			for _, text := range texts {
				if text, ok := text.(string); ok {
					values = append(values, []byte(text))
				}
			}
		}
		for _, inner := range tree {
			values = append(values, headers(inner)...)
		}
	case []any:
		for _, inner := range tree {
			values = append(values, headers(inner)...)
		}
	}
	return values
}
