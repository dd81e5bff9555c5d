package policy

import (
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// TestStatements ensures that rules that are parsed one by one are at the places where a parser of the
// whole text finds them, whatever is in strings and comments.
func TestStatements(t *testing.T) {
	rule := `permit (principal, action, resource);`
	for name, tt := range map[string]struct {
		text  string
		rules int // -1 for a mistake
	}{
		"empty":          {"", 0},
		"comment":        {"// nothing; here", 0},
		"two on a line":  {rule + " " + rule, 2},
		"lines":          {"\n\n" + rule + "\r\n\t" + rule + "\n", 2},
		"string":         {`@id("a;b") permit (principal == User::"x\";y\\", action, resource);` + rule, 2},
		"line comment":   {rule + "// \"; /*\n" + rule + "//", 2},
		"block comment":  {"/*/ ; // \n*/" + rule + "/* \"; **/ permit /*;*/ (principal, action, resource);", 2},
		"letters":        {`@message("größer; als") permit (principal, action, resource); ` + rule, 2},
		"last without ;": {rule + "permit (principal, action, resource)", -1},
		"open string":    {rule + `@id("a; permit (principal, action, resource);`, -1},
		"open comment":   {rule + `/* ; permit (principal, action, resource);`, -1},
		"no rule":        {rule + ";" + rule, -1},
		"slash":          {rule + "/" + rule, -1},
	} {
		text := tt.text
		t.Run(name, func(t *testing.T) {
			want, wantErr := cedar.NewPolicyListFromBytes("x", []byte(text))
			rules, failed := inText(text)
			var got []located
			for p := range rules {
				got = append(got, p)
			}
			if (failed() != nil) != (wantErr != nil) || (wantErr != nil) != (tt.rules < 0) {
				t.Fatalf("error %v, want %v", failed(), wantErr)
			}
			if wantErr != nil {
				if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), "x:1:") {
					t.Errorf("error %v, want one with its line", err)
				}
				return
			}
			if len(got) != tt.rules || len(want) != tt.rules {
				t.Fatalf("%d rules, want %d", len(got), tt.rules)
			}
			for i, p := range got {
				at := want[i].Position()
				if p.offset != at.Offset || p.line != at.Line || columnOf(text, p.offset) != at.Column {
					t.Errorf("rule %d is at %d, line %d, column %d; want %d, %d, %d", i,
						p.offset, p.line, columnOf(text, p.offset), at.Offset, at.Line, at.Column)
				}
			}
		})
	}
}

// FuzzStatements ensures that the parts of a text are the rules that a parser of the whole text finds.
func FuzzStatements(f *testing.F) {
	rule := `permit (principal, action, resource);`
	for _, text := range []string{
		rule + "// \"; /*\n" + rule, "/*/ ; // \n*/" + rule + "/* \"; **/", rule + ";" + rule, rule + "/" + rule,
		`@id("a;\"\\") forbid (principal == User::"\u{3b}", action, resource) when { context.a like "\*;" };` + rule,
		"// ü;\r" + rule + "\n" + rule, rule + "\x00;" + rule, rule + "// \xff;\n" + rule,
	} {
		f.Add(text)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		want, wantErr := cedar.NewPolicyListFromBytes("x", []byte(text))
		rules, failed := inText(text)
		var got []located
		for p := range rules {
			got = append(got, p)
		}
		if (failed() != nil) != (wantErr != nil) {
			t.Fatalf("error %v, want %v", failed(), wantErr)
		}
		if wantErr != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d rules, want %d", len(got), len(want))
		}
		for i, p := range got {
			at := want[i].Position()
			if p.offset != at.Offset || p.line != at.Line || string(p.MarshalCedar()) != string(want[i].MarshalCedar()) {
				t.Errorf("rule %d at %d, line %d is\n%s\nwant at %d, line %d\n%s", i,
					p.offset, p.line, p.MarshalCedar(), at.Offset, at.Line, want[i].MarshalCedar())
			}
		}
	})
}
