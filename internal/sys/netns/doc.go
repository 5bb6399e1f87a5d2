// Package netns runs functions in other network namespaces.
package netns
