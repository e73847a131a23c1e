package meter

// node is a place in a JSON text that is looked into: an object with wanted members, a list with wanted elements. A
// field other than 0 is reported when a value is met at the place. Trees of nodes are at most maxFrames-1 deep.
type node struct {
	name    string
	field   field
	members []*node
	element *node

	around   *node       // of a root: a list of such roots
	byLength [24][]*node // the members by the length of their names: most names that come are ruled out by it
}

// newTree makes a tree ready to be looked into; it is not changed any more.
func newTree(root *node) *node {
	root.index()
	root.around = &node{element: root}
	return root
}

// index sorts the members of each place.
func (n *node) index() {
	for _, m := range n.members {
		n.byLength[len(m.name)] = append(n.byLength[len(m.name)], m)
		m.index()
	}
	if n.element != nil {
		n.element.index()
	}
}

func (n *node) member(name []byte) *node {
	if len(name) >= len(n.byLength) {
		return nil
	}
	for _, m := range n.byLength[len(name)] {
		if m.name == string(name) {
			return m
		}
	}
	return nil
}
