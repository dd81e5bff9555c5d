package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
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
	byType map[string]*validate.Validator // by the type of the arguments
	// shapes are the rules that were valid, without the ids in their scopes: only the types
	// there matter, and rules of a large policy have few shapes.
	shapes map[string]bool
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
	if err := validator.Policy("rule", p); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if v.shapes == nil {
		v.shapes = make(map[string]bool)
	}
	v.shapes[shape] = true
	return nil
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
func (v *validators) get(arguments string) (*validate.Validator, error) {
	if known := v.byType[arguments]; known != nil {
		return known, nil
	}
	var s schema.Schema
	text := strings.Replace(schemaText, emptyArguments, "type Arguments = "+arguments+";", 1)
	if err := s.UnmarshalCedar([]byte(text)); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	resolved, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if v.byType == nil {
		v.byType = make(map[string]*validate.Validator)
	}
	v.byType[arguments] = validate.New(resolved)
	return v.byType[arguments], nil
}
