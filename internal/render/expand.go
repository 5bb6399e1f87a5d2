package render

import "github.com/podctl/podctl/internal/pod"

// expand replaces $(NAME) by the value of that variable, if lookup knows it.
func expand(s string, lookup func(name string) (string, bool)) string { return pod.Expand(s, lookup) }
