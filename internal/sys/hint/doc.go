// Package hint adds advice to errors: the command to type next.
//
//	hint.Errorf("podctl pods lists them", "pod %q not found", name)
//
//	podctl: pod "web" not found
//	  hint: podctl pods lists them
//
// Every error with a method Hint() string carries advice. An error needs a
// type of its own only where code matches it with errors.AsType or errors.As.
package hint
