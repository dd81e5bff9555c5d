package process

import "testing"

// TestWindowsWord verifies that a word ends where its text ends, in cmd.exe and in PowerShell.
func TestWindowsWord(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `""`,
		`C:\Users\me\a-b.mcpb`:    `C:\Users\me\a-b.mcpb`,
		"My Server.mcpb":          `"My Server.mcpb"`,
		"c;id.mcpb":               `"c;id.mcpb"`,
		"rob&calc":                `"rob&calc"`,
		`a" & calc "`:             `"a"" & calc """`,
		"$(calc)`n":               "\"`$(calc)``n\"",
		"a” ; calc “":             "\"a`” ; calc `“\"",
		"a\r\ncalc":               `"a  calc"`,
		`my dir\`:                 `"my dir\\"`,
		`x\" --flag \"y`:          `"x\\"" --flag \\""y"`,
		"%CMDCMDLINE:~0,1%&calc":  `"%%cd:~,%CMDCMDLINE:~0,1%%cd:~,%&calc"`,
		"a%20b":                   `a%20b`,
		"@scope/pkg":              `"@scope/pkg"`,
		"a,b":                     `"a,b"`,
		"https://a.example/?b&c=": `"https://a.example/?b&c="`,
	} {
		if got := ShellWordFor("windows", text); got != want {
			t.Errorf("ShellWordFor(windows, %q) = %s, want %s", text, got, want)
		}
	}
}
