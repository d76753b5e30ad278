// Package configs reads guardd's configuration file: the schema, strict loading
// with every problem at once, the defaults, and the files shipped beside the
// program (examples/, systemd/).
//
// Loading is all or nothing. A key that is not known, a value of the wrong
// type or one that cannot be right, a key written twice, and a key whose
// feature is not built yet are all problems, each with its line, and with one
// problem nothing starts.
//
// The section of an account that belongs to its provider is decoded into a type
// of that provider's adapter, handed in from outside as a [SectionDecoder], so
// that this package knows no cloud.
package configs
