package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

//go:embed schema.cedarschema
var schemaText string

// Schema returns the Cedar schema against which rules are validated.
//
// The type of context.arguments is empty in it, because the arguments of tools differ. Each
// rule is validated with the arguments that it uses, all optional, with the types that
// follow from how it uses them: see docs/policies.md.
func Schema() string { return schemaText }

const emptyArguments = "type Arguments = {};"

// validators validates rules against the schema.
type validators struct {
	byType map[string]*validator // by the type of the arguments
	// shapes are the rules that were valid, without the ids in their scopes: only the types
	// there matter, and rules of a large policy have few shapes.
	shapes map[string]bool
}

// validator is a validator for one type of arguments, with the schema that it knows.
type validator struct {
	*validate.Validator
	schema *resolved.Schema
}

// check validates a rule whose arguments have a type, as Cedar text.
func (v *validators) check(p *ast.Policy, arguments string) error {
	shape := arguments + "\n" + shapeOf(p)
	if v.shapes[shape] {
		return nil
	}
	validator, err := v.get(arguments)
	if err != nil {
		return err
	}
	if err := validator.checkNames(p); err != nil {
		return err
	}
	if err := validator.Policy(validated, p); err != nil {
		text := strings.ReplaceAll(err.Error(), "for policy `"+validated+"`, ", "") // the caller names the rule
		return oneLine(errors.New(text))
	}
	if v.shapes == nil {
		v.shapes = make(map[string]bool)
	}
	v.shapes[shape] = true
	return nil
}

// validated is the id of every rule for the validator.
const validated = "rule"

// checkNames returns an error for types and actions in the scope of a rule that do not exist.
// Of those, the validator would also report that no action applies to them.
func (v *validator) checkNames(p *ast.Policy) error {
	var unknown []error
	for _, kind := range slices.Concat(typesIn(p.Principal), typesIn(p.Resource)) {
		if _, known := v.schema.Entities[kind]; !known {
			unknown = append(unknown, fmt.Errorf("unknown type %s: %s", kind,
				suggestion(string(kind), typeNames(v.schema))))
		}
	}
	for _, uid := range namedActions(p.Action) {
		if _, known := v.schema.Actions[uid]; !known {
			unknown = append(unknown, fmt.Errorf("unknown action %s: %s", uid,
				suggestion(string(uid.ID), actionNames[:])))
		}
	}
	return oneLine(errors.Join(unknown...))
}

// typesIn returns the types that the scope of a principal or a resource names.
func typesIn(scope any) []types.EntityType {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return []types.EntityType{scope.Entity.Type}
	case ast.ScopeTypeIn:
		return []types.EntityType{scope.Entity.Type}
	case ast.ScopeTypeIs:
		return []types.EntityType{scope.Type}
	case ast.ScopeTypeIsIn:
		return []types.EntityType{scope.Type, scope.Entity.Type}
	}
	return nil
}

// typeNames returns the types of a schema, in order.
func typeNames(s *resolved.Schema) []string {
	var names []string
	for kind := range s.Entities {
		names = append(names, string(kind))
	}
	slices.Sort(names)
	return names
}

// suggestion returns what to use rather than an unknown name: the nearest one, or any of all.
func suggestion(name string, all []string) string {
	if near := nearest.DidYouMean(name, all); near != "" {
		return "did you mean " + near + "?"
	}
	return "want " + strings.Join(all, ", ")
}

// oneLine returns joined errors as one on a line, or nil.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// shapeOf returns the text of a rule without annotations and without the ids of the
// principal and the resource.
func shapeOf(p *ast.Policy) string {
	without := *p
	without.Annotations = nil
	blank := func(uid types.EntityUID) types.EntityUID { return types.EntityUID{Type: uid.Type} }
	switch scope := p.Principal.(type) {
	case ast.ScopeTypeEq:
		without.Principal = ast.ScopeTypeEq{Entity: blank(scope.Entity)}
	case ast.ScopeTypeIn:
		without.Principal = ast.ScopeTypeIn{Entity: blank(scope.Entity)}
	case ast.ScopeTypeIsIn:
		without.Principal = ast.ScopeTypeIsIn{Type: scope.Type, Entity: blank(scope.Entity)}
	}
	switch scope := p.Resource.(type) {
	case ast.ScopeTypeEq:
		without.Resource = ast.ScopeTypeEq{Entity: blank(scope.Entity)}
	case ast.ScopeTypeIn:
		without.Resource = ast.ScopeTypeIn{Entity: blank(scope.Entity)}
	case ast.ScopeTypeIsIn:
		without.Resource = ast.ScopeTypeIsIn{Type: scope.Type, Entity: blank(scope.Entity)}
	}
	return string(cedar.NewPolicyFromAST((*publicast.Policy)(&without)).MarshalCedar())
}

// get returns the validator for a type of arguments.
func (v *validators) get(arguments string) (*validator, error) {
	if known := v.byType[arguments]; known != nil {
		return known, nil
	}
	var s schema.Schema
	text := strings.Replace(schemaText, emptyArguments, "type Arguments = "+arguments+";", 1)
	if err := s.UnmarshalCedar([]byte(text)); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	known, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if v.byType == nil {
		v.byType = make(map[string]*validator)
	}
	v.byType[arguments] = &validator{validate.New(known), known}
	return v.byType[arguments], nil
}
