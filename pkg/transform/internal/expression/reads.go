package expression

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// Reads lists the values that an expression reads of a feature, so that only these are converted.
type Reads struct {
	ID, Geometry, Target bool
	Loops                bool // the expression has loops and needs [Steps]

	properties    map[string]bool
	allProperties bool
	members       map[ast.Node]bool // identifiers whose member was recorded
	refused       error             // the first thing that is not allowed
}

// Property reports whether the expression reads a property.
func (r *Reads) Property(name string) bool { return r.allProperties || r.properties[name] }

// Visit records one node. The library visits children first.
func (r *Reads) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		r.identifier(n)
	case *ast.MemberNode:
		r.member(n)
	case *ast.BinaryNode:
		_, constant := n.Right.(*ast.StringNode)
		switch {
		case n.Operator == "..":
			r.refuse(n, "ranges are not available")
		case n.Operator == "matches" && !constant:
			r.refuse(n, "the pattern of matches must be written out")
		}
	}
}

func (r *Reads) refuse(n ast.Node, message string) {
	if r.refused == nil {
		r.refused = fmt.Errorf("%s (character %d of the expression)", message, n.Location().From+1)
	}
}

func (r *Reads) identifier(n *ast.IdentifierNode) {
	switch n.Value {
	case "id":
		r.ID = true
	case "geometry":
		r.Geometry = true
	case "target":
		r.Target = true
	case "$env":
		r.refuse(n, "$env is not available")
	}
}

// member records properties.name.
func (r *Reads) member(n *ast.MemberNode) {
	owner, isName := n.Node.(*ast.IdentifierNode)
	name, isConstant := n.Property.(*ast.StringNode)
	if !isName || owner.Value != "properties" || !isConstant {
		return
	}
	if r.properties == nil {
		r.properties, r.members = map[string]bool{}, map[ast.Node]bool{}
	}
	r.properties[name.Value], r.members[owner] = true, true
}

// Nothing reports whether the expression does not depend on the feature.
func (r *Reads) Nothing() bool {
	return !r.ID && !r.Geometry && !r.Target && !r.allProperties && len(r.properties) == 0
}

// check looks at the whole tree after the library has optimized it. It returns the first fault.
func (r *Reads) check(root ast.Node) error {
	if r.refused != nil {
		return r.refused
	}
	r.wholeProperties(root)
	depth := loopDepth(root)
	if r.Loops = depth > 0; depth > maxLoops {
		return fmt.Errorf("loops are nested %d deep, more than %d", depth, maxLoops)
	}
	return nil
}

// wholeProperties finds uses of properties other than by a fixed name. ast.Walk does not visit the map of a filter, which
// the library makes of map(filter(…)).
func (r *Reads) wholeProperties(n ast.Node) {
	if name, ok := n.(*ast.IdentifierNode); ok && name.Value == "properties" && !r.members[n] {
		r.allProperties = true
	}
	for _, child := range childrenOf(n) {
		r.wholeProperties(child)
	}
}
