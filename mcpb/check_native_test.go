package mcpb

import "testing"

func TestFamilyOf(t *testing.T) {
	for name, want := range map[string]string{
		"node_modules/@img/sharp-linux-x64/lib/sharp-linux-x64.node":         "node_modules/@img/sharp",
		"node_modules/@img/sharp-win32-x64/lib/sharp.node":                   "node_modules/@img/sharp",
		"node_modules/@esbuild/linux-x64/bin/esbuild":                        "node_modules/@esbuild",
		"node_modules/bare-url/prebuilds/win32-arm64/bare-url.bare":          "node_modules/bare-url",
		"node_modules/a/node_modules/b-darwin-arm64/b.node":                  "node_modules/a/node_modules/b",
		"server/lib/pydantic_core/_core.cpython-311-x86_64-linux-gnu.so":     "server/lib/pydantic_core",
		"venv/lib/python3.11/site-packages/yaml/_yaml.cpython-311-darwin.so": "venv/lib/python3.11/site-packages/yaml",
		"server/bin/tool":                                          "server/bin",
		"server/lib/single.cpython-312-darwin.so":                  "server/lib",
		"node_modules/@scope/x-linux-x64-gnu/x.linux-x64-gnu.node": "node_modules/@scope/x",
	} {
		if got := familyOf(name); got != want {
			t.Errorf("familyOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPythonTag(t *testing.T) {
	for name, want := range map[string]string{
		"a/_core.cpython-311-x86_64-linux-gnu.so": "3.11",
		"a/_core.cp39-win_amd64.pyd":              "3.9",
		"a/_core.cpython-312-darwin.so":           "3.12",
		"a/_core.abi3.so":                         "",
		"a/_core.so":                              "",
		"a/_core.pypy39-pp73-linux.so":            "3.9",
	} {
		if got := pythonTag(name); got != want {
			t.Errorf("pythonTag(%q) = %q, want %q", name, got, want)
		}
	}
}
