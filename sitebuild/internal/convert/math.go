package convert

import "strings"

// formula returns a formula of Word (OMML, ECMA-376 part 1, §22.1) on one line, with the
// usual signs for what stands above, below and beside: (a)/(b), x^2, x_i, sqrt(x).
func formula(n *node) string {
	if n == nil {
		return ""
	}
	switch n.name {
	case "":
		return strings.ReplaceAll(n.text, "\u2061", " ") // a function is applied
	case "m:f":
		return grouped(formula(n.child("m:num"))) + "/" + grouped(formula(n.child("m:den")))
	case "m:sSup", "m:sSub", "m:sSubSup", "m:sPre":
		return formula(n.child("m:e")) + scripts(n)
	case "m:nary":
		sign := n.child("m:naryPr").child("m:chr").attr("val")
		if sign == "" {
			sign = "∫"
		}
		return sign + scripts(n) + " " + formula(n.child("m:e"))
	case "m:rad":
		if degree := formula(n.child("m:deg")); degree != "" {
			return "root(" + degree + ", " + formula(n.child("m:e")) + ")"
		}
		return "sqrt(" + formula(n.child("m:e")) + ")"
	case "m:d":
		start, end := "(", ")"
		properties := n.child("m:dPr")
		if c := properties.child("m:begChr"); c != nil {
			start = c.attr("val")
		}
		if c := properties.child("m:endChr"); c != nil {
			end = c.attr("val")
		}
		return start + formulas(n.kids, "m:e", ", ") + end
	case "m:m":
		return "[" + formulas(n.kids, "m:mr", "; ") + "]"
	case "m:mr":
		return formulas(n.kids, "m:e", ", ")
	case "m:limLow", "m:limUpp":
		return formula(n.child("m:e")) + "_" + grouped(formula(n.child("m:lim")))
	case "w:rPr", "m:rPr", "m:ctrlPr":
		return ""
	}
	return formulas(n.kids, "", "")
}

// formulas joins the elements of that name, or all if it is empty.
func formulas(list []*node, name, between string) string {
	var parts []string
	for _, n := range list {
		if name == "" || n.name == name {
			parts = append(parts, formula(n))
		}
	}
	return strings.Join(parts, between)
}

// scripts returns what stands below and above the base of a formula.
func scripts(n *node) string {
	text := ""
	if below := formula(n.child("m:sub")); below != "" {
		text += "_" + grouped(below)
	}
	if above := formula(n.child("m:sup")); above != "" {
		text += "^" + grouped(above)
	}
	return text
}

// grouped puts parentheses around more than one letter or number.
func grouped(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, " +-−*/=^_(,") || len([]rune(text)) > 3 {
		return "(" + text + ")"
	}
	return text
}
