package main

import "encoding/json"

// launch is a manifest with a user's settings, and the command line that the reference
// implementation builds for it on Linux. It is a line of the second record.
type launch struct {
	Name     string            `json:"name"`
	Manifest json.RawMessage   `json:"manifest"`
	Values   object            `json:"values"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
}

// launches returns cases in which the specification and the reference implementation
// agree. Package mcpb has its own tests for those in which the reference is wrong.
func launches() []launch {
	option := func(kind string, more object) object {
		o := object{"type": kind, "title": "t", "description": "d"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	options := object{
		"s":      option("string", nil),
		"preset": option("string", object{"default": "p q"}),
		"secret": option("string", object{"sensitive": true}),
		"n":      option("number", object{"default": 2.5}),
		"b":      option("boolean", object{"default": false}),
		"need":   option("string", object{"required": true}),
		"d":      option("directory", object{"multiple": true}),
		"one":    option("file", nil),
		"dd":     option("directory", object{"multiple": true, "default": array{"/x", "/y z"}}),
	}
	configs := object{
		"plain":   object{"command": "node", "args": array{"a", "b c", ""}, "env": object{"A": "1", "B": ""}},
		"no args": object{"command": "x"},
		"system": object{
			"command": "${__dirname}/bin/x",
			"args": array{
				"${__dirname}${/}a",
				"${HOME}${pathSeparator}b",
				"${DESKTOP}|${DOCUMENTS}|${DOWNLOADS}",
				"${__dirname}${__dirname}",
			},
			"env": object{"PYTHONPATH": "${__dirname}/lib"},
		},
		"options": object{
			"command": "node",
			"args":    array{"${user_config.s}", "--p=${user_config.preset}", "${user_config.n}", "-b${user_config.b}"},
			"env":     object{"S": "${user_config.s}", "T": "Bearer ${user_config.secret}", "N": "${user_config.need}"},
		},
		"lists": object{
			"command": "node",
			"args":    array{"x", "${user_config.d}", "${user_config.dd}", "${user_config.one}", "y"},
		},
		"literal": object{
			"command": "node",
			"args":    array{"$HOME", "${", "$}", "{HOME}", "$${HOME}", "${unknown}", "\\${HOME}"},
		},
		"overrides": object{
			"command":            "node",
			"args":               array{"a"},
			"env":                object{"A": "1"},
			"platform_overrides": object{"linux": object{"args": array{"${HOME}", "b"}}, "win32": object{"command": "no"}},
		},
		"command": object{
			"command":            "node",
			"platform_overrides": object{"linux": object{"command": "deno", "env": object{"C": "2"}}},
		},
		"emptied": object{
			"command":            "node",
			"args":               array{"a"},
			"platform_overrides": object{"linux": object{"command": "", "args": array{}}},
		},
	}
	fillings := object{
		"text": object{"s": "v", "secret": "t0ken", "need": "n", "d": array{"/a"}, "one": "/f"},
		"spaces": object{
			"s":      " a  b ",
			"secret": "a\"b'c",
			"need":   "ä\\n",
			"d":      array{"/a b", "/c", "/d"},
			"one":    "/f g",
			"preset": "other",
			"n":      7,
			"b":      true,
		},
		"numbers": object{
			"s":      "0",
			"secret": "1",
			"need":   "false",
			"n":      0.000001,
			"d":      array{"/a", "/a"},
			"one":    "/",
			"dd":     array{"/z"},
		},
		"large": object{"s": "x", "secret": "x", "need": "x", "n": 1e21, "d": array{"/1"}, "one": "/2"},
	}
	var all []launch
	for _, config := range []string{
		"plain", "no args", "system", "options", "lists", "literal", "overrides", "command", "emptied",
	} {
		for _, filling := range []string{"text", "spaces", "numbers", "large"} {
			m := small("0.3")
			m["server"].(object)["mcp_config"] = configs[config]
			m["user_config"] = options
			text, err := json.Marshal(m)
			if err != nil {
				panic(err) // the table is wrong
			}
			all = append(all, launch{Name: config + ", " + filling, Manifest: text, Values: fillings[filling].(object)})
		}
	}
	return all
}
