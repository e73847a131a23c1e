package dtql

// unsupportedKey names the constructs of the language that no holder here executes. They are told from slips, so that a
// document which is right elsewhere gets the verdict "unsupported" and not "fail".
func unsupportedKey(key string) string {
	switch key {
	case "query":
		return "derived table"
	case "parent":
		return "parented collection"
	case "key", "keyPath", "path":
		return "key path"
	case "subquery":
		return "scalar subquery"
	case "first", "last", "money":
		return key
	}
	return ""
}

func parseCondition(n *node, path *Path) (Condition, error) {
	if err := members(n, path, "op", "left", "right", "and", "or", "isNull", "isNotNull", "exists", "notExists"); err != nil {
		return nil, err
	}
	compares, form := false, ""
	for i := 0; i < len(n.items); i += 2 {
		switch key := n.items[i].value; {
		case key == "op" || key == "left" || key == "right":
			compares = true
		case form != "":
			return nil, n.at(path.err("condition must set exactly one of and, or, isNull, isNotNull, exists or notExists"))
		default:
			form = key
		}
	}
	switch {
	case compares && form != "":
		return nil, n.at(path.err("condition mixes comparison and group forms"))
	case compares:
		return parseComparison(n, path)
	case form == "":
		return nil, n.at(path.err("condition must be a comparison (op/left/right) or a group (and/or)"))
	}
	return parseForm(n, path, form)
}

func parseComparison(n *node, path *Path) (Condition, error) {
	var c Comparison
	p := parser{n: n, path: path}
	p.text("op", (*string)(&c.Op))
	if op := n.child("op"); p.err == nil && op != nil && !c.Op.known() {
		return nil, op.at(path.err("unknown comparison operator %q", shorten(string(c.Op))))
	}
	if p.err == nil && (n.child("left") == nil || n.child("right") == nil) {
		return nil, n.at(path.err("comparison requires both left and right"))
	}
	p.need("op")
	p.expr("left", &c.Left)
	p.expr("right", &c.Right)
	return c, p.err
}

func parseForm(n *node, path *Path, form string) (Condition, error) {
	inner, place := n.child(form), path.Key(form)
	switch form {
	case "and", "or":
		conditions, err := parseList(inner, place, parseCondition)
		if err == nil && len(conditions) == 0 {
			err = n.at(path.err("group must have at least one condition"))
		}
		if form == "and" {
			return And(conditions), err
		}
		return Or(conditions), err
	case "isNull", "isNotNull":
		expr, err := parseExpr(inner, place)
		if form == "isNull" {
			return IsNull{expr}, err
		}
		return IsNotNull{expr}, err
	}
	if err := members(inner, place, "query"); err != nil {
		return nil, err
	}
	query := inner.child("query")
	if query == nil {
		return nil, inner.at(place.Key("query").is("is required"))
	}
	doc, err := parseDocument(query, place.Key("query"))
	if form == "exists" {
		return Exists{doc}, err
	}
	return NotExists{doc}, err
}

func parseExpr(n *node, path *Path) (Expr, error) { return parseExprWith(n, path) }

// parseExprWith reads an expression that shares its mapping with the keys in beside.
func parseExprWith(n *node, path *Path, beside ...string) (Expr, error) {
	if n.child("query") != nil {
		return nil, n.child("query").at(path.Key("query").unsupported("scalar subquery"))
	}
	known := [16]string{"field", "source", "value", "values", "param", "star", "aggregate", "binary"}
	if err := members(n, path, append(known[:8], beside...)...); err != nil {
		return nil, err
	}
	form, forms := "", 0
	for i := 0; i < len(n.items); i += 2 {
		if key := n.items[i].value; contains(known[:8], key) && key != "source" {
			form = key
			forms++
		}
	}
	if forms != 1 {
		return nil, n.at(path.err("expression must set exactly one of field, value or values"))
	}
	if source := n.child("source"); source != nil && form != "field" {
		return nil, source.at(path.err("source goes with field only"))
	}
	return parseOne(n, path, form)
}

func parseOne(n *node, path *Path, form string) (Expr, error) {
	p := parser{n: n, path: path}
	if form == "field" {
		var field Field
		p.name(&field)
		return field, p.err
	}
	inner, place := n.child(form), path.Key(form)
	switch form {
	case "value":
		value, err := parseScalar(inner, place)
		return Value{value}, err
	case "values":
		values, err := parseList(inner, place, parseScalar)
		return Values(values), err
	case "param":
		var param Param
		p.text("param", &param.Name)
		return param, p.err
	case "star":
		var star bool
		p.flag("star", &star)
		if p.err == nil && !star {
			p.err = inner.at(place.is("must be true"))
		}
		return Star{}, p.err
	case "aggregate":
		return parseAggregate(inner, place)
	}
	return parseBinary(inner, place)
}

func parseAggregate(n *node, path *Path) (Expr, error) {
	var a Aggregate
	if err := members(n, path, "function", "distinct", "args"); err != nil {
		return nil, err
	}
	p := parser{n: n, path: path}
	p.need("function")
	p.text("function", (*string)(&a.Function))
	p.flag("distinct", &a.Distinct)
	p.need("args")
	a.Args = elements(&p, "args", parseExpr)
	return a, p.err
}

func parseBinary(n *node, path *Path) (Expr, error) {
	var b Binary
	if err := members(n, path, "op", "left", "right"); err != nil {
		return nil, err
	}
	p := parser{n: n, path: path}
	for _, key := range []string{"op", "left", "right"} {
		p.need(key)
	}
	p.text("op", (*string)(&b.Op))
	p.expr("left", &b.Left)
	p.expr("right", &b.Right)
	return b, p.err
}
