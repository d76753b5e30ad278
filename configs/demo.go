package configs

import _ "embed"

// Demo is the scenario file that guardd demo plays, shipped as scenarios/demo.yaml.
//
//go:embed scenarios/demo.yaml
var Demo []byte
