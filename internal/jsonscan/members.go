package jsonscan

// Field is a member of a JSON object. Value is a slice of the object's text.
type Field struct {
	// Name is the decoded key, and Value the text of the value.
	Name  string
	Value []byte
}

// Members returns the members of the valid JSON object raw in text order, repeated names
// included. It returns what precedes an error in the text.
func Members(raw []byte) []Field {
	var list []Field
	_, _ = Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := Value(raw, i)
		if err == nil {
			list = append(list, Field{string(key), raw[i:end:end]})
		}
		return end, err
	})
	return list
}

// Elements returns the elements of the valid JSON array raw, each a slice of its text. It
// returns what precedes an error in the text.
func Elements(raw []byte) [][]byte {
	var list [][]byte
	_, _ = Array(raw, 0, 0, func(i int) (int, error) {
		i = Space(raw, i)
		end, err := Value(raw, i)
		if err == nil {
			list = append(list, raw[i:end:end])
		}
		return end, err
	})
	return list
}
