// Package config reads a configuration file. It knows YAML and where in the file things are, and nothing of what they
// mean: a value is a text, a list or a map, and everything else that YAML has is an error that says what to write.
package config
