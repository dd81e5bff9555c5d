package mcpb_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/mcpb"
)

const notes = `{
  "manifest_version": "0.3",
  "name": "notes",
  "version": "1.0",
  "description": "Keeps notes",
  "author": {"name": "A. Person"},
  "server": {
    "type": "node",
    "entry_point": "index.js",
    "mcp_config": {
      "command": "node",
      "args": ["${__dirname}/index.js", "${user_config.folders}"],
      "env": {"TOKEN": "${user_config.token}"}
    }
  },
  "user_config": {
    "folders": {"type": "directory", "title": "Folders", "description": "Where notes are", "multiple": true},
    "token": {"type": "string", "title": "Token", "description": "For the service", "sensitive": true}
  }
}`

func ExampleCheck() {
	bundle := fstest.MapFS{"manifest.json": {Data: []byte(notes)}}
	_, report, err := mcpb.Check(bundle, nil)
	if err != nil {
		panic(err)
	}
	_ = report.WriteText(os.Stdout, false)
	fmt.Println(report.Summary())
	// Output:
	// manifest.json:1:1: note: option "token" is a credential, and there is no privacy policy [mcpb/privacy-policy]
	//   hint: privacy_policies is required when a service handles data of the user
	// manifest.json:4:14: warning: "1.0" is not a semantic version [mcpb/version]
	//   hint: three numbers, such as 1.0.0
	// manifest.json:9:20: error: the entry point index.js is not in the bundle [mcpb/entry-point]
	//   hint: build it first, or name the file that is there
	// 1 error, 1 warning, 1 note
}

func ExampleExpand() {
	m, err := mcpb.ParseManifest([]byte(notes))
	if err != nil {
		panic(err)
	}
	launch, err := mcpb.Expand(m, &mcpb.ExpandOptions{
		Dir:      "/opt/notes",
		Platform: "linux",
		NoFiles:  true,
		Values:   map[string]any{"folders": []string{"/home/me/work", "/home/me/private"}, "token": "s3cret"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(launch.Command, launch.Args)
	fmt.Println(launch)
	// Output:
	// node [/opt/notes/index.js /home/me/work /home/me/private]
	// TOKEN='[redacted]' node /opt/notes/index.js /home/me/work /home/me/private
}

func ExampleFix() {
	fixed, repairs := mcpb.Fix([]byte(`{"dxt_version": "0.1", "name": "notes", "author": "A. Person <a@example.com>"}`))
	fmt.Printf("%s\n", fixed)
	for _, r := range repairs {
		fmt.Println(r.About)
	}
	// Output:
	// {"manifest_version": "0.1", "name": "notes", "author": { "name": "A. Person", "email": "a@example.com" }}
	// renamed "dxt_version" to "manifest_version"
	// made the author an object
}
