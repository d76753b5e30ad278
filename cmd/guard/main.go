// Command guard is the people's side of guardd: register a machine when it is
// rented, see what it costs and when it ends, extend it, release it.
package main

import (
	"os"

	"guard/cmd/guard/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:]...)) }
