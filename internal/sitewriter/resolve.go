package sitewriter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func (w *writer) sort() { sortByPath(w.files) }

func sortByPath(files []file) {
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
}

// has reports whether one of the sorted files has that path.
func (w *writer) has(path string) bool {
	_, ok := slices.BinarySearchFunc(w.files, path, func(f file, path string) int {
		return cmp.Compare(f.path, path)
	})
	return ok
}

// resolve reduces each path to a single file, and sorts the files. The result is
// independent of the order of the answers.
func (w *writer) resolve() error {
	w.sort()
	var groups [][]file
	kept := w.files[:0]
	for i := 0; i < len(w.files); {
		end := i + 1
		for end < len(w.files) && w.files[end].path == w.files[i].path {
			end++
		}
		w.merges = w.merges || end > i+1
		group, err := w.merged(w.files[i:end])
		if err != nil {
			return err
		}
		if len(group) == 1 {
			kept = append(kept, group[0])
		} else {
			groups = append(groups, slices.Clone(group))
		}
		i = end
	}
	w.files = kept
	var added []file
	for _, group := range groups {
		files, err := w.separate(group)
		if err != nil {
			return err
		}
		added = append(added, files...)
	}
	return w.insert(added)
}

// insert adds the files created for collisions, which must not collide again.
func (w *writer) insert(added []file) error {
	sortByPath(added)
	for i := range added {
		f := &added[i]
		if w.has(f.path) || i > 0 && added[i-1].path == f.path {
			w.in("").Add(ruleCollision, "", "change one of the arguments or URIs",
				"the file %s, which tells answers with one name apart, is taken itself", f.path)
		}
	}
	w.files = append(w.files, added...)
	w.sort()
	return nil
}

// merged returns the files of one path without those that yield: spare paths and
// duplicate answers.
func (w *writer) merged(group []file) ([]file, error) {
	if len(group) == 1 {
		return group, nil
	}
	proper := slices.DeleteFunc(slices.Clone(group), func(f file) bool {
		return f.spare
	})
	if len(proper) == 0 {
		// The choice among spare files must not depend on their order.
		return []file{slices.MinFunc(group, func(a, b file) int {
			return slices.Compare(a.sum[:], b.sum[:])
		})}, nil
	}
	if len(proper) == 1 {
		return proper, nil
	}
	seen := make(map[string]file)
	var unique []file
	least := ""
	for _, f := range proper {
		q, err := w.questionOf(&f)
		if err != nil {
			return nil, err
		}
		key := q.URI + "\x00" + string(q.Arguments)
		if first, again := seen[key]; !again {
			seen[key] = f
			unique = append(unique, f)
			if least == "" || key < least {
				least = key
			}
		} else if first.sum != f.sum {
			w.in(q.From).Add(ruleDuplicateAnswer, "", "",
				"%s: there are two different answers", q)
		}
	}
	if !slices.ContainsFunc(unique, func(f file) bool {
		return f.sum != unique[0].sum
	}) {
		// All answers are equal, so any of them will do.
		return []file{seen[least]}, nil
	}
	return unique, nil
}

// one is an answer among several with the same name.
type one struct {
	// file is one of several answers with the same path, and q what it answers.
	file    file
	q       *question
	address staticmcp.Address
	key     string // sort key
}

// separate gives each answer in group a unique name, and returns them together with the
// answer that lists them.
func (w *writer) separate(group []file) ([]file, error) {
	list := make([]one, len(group))
	for i := range group {
		q, err := w.questionOf(&group[i])
		if err != nil {
			return nil, err
		}
		address, err := w.address(q)
		if err != nil {
			return nil, err
		}
		list[i] = one{group[i], q, address, strings.Join(address.Texts, "\x00") + "\x00" + q.URI}
	}
	order.By(list, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.key, b.key),
			slices.Compare(a.file.sum[:], b.file.sum[:]))
	})
	if w.opts.Collisions == Refuse {
		w.in(list[1].q.From).Add(ruleCollision, "", "rename one, or tell them apart: --collisions disambiguate",
			"%s and %s have one file, %s", list[0].q, list[1].q, group[0].path)
		return nil, nil
	}
	places, err := differing(list)
	if err != nil {
		w.in(list[1].q.From).Add(ruleCollision, "", "give the optional arguments defaults, or make them required",
			"%s and %s have one file, %s, and %v", list[0].q, list[1].q, group[0].path, err)
		return nil, nil
	}
	w.in(list[0].q.From).Add(ruleCollision.As(check.Note), "", "",
		"%d answers share the name %s, such as %s and %s; they were distinguished", len(list), group[0].path,
		list[0].q, list[1].q)
	files := make([]file, 0, len(list)+1)
	for _, o := range list {
		o.file.path = o.address.DistinctPath(places...)
		files = append(files, o.file)
	}
	shared, err := w.shared(group[0].path, list, places)
	return append(files, shared), err
}

// address returns the address of an answer.
func (w *writer) address(q *question) (staticmcp.Address, error) {
	switch {
	case q.Tool != "":
		return w.tools[q.Tool].layout.Address(q.Arguments)
	case q.URI != "":
		return staticmcp.ResourceAddress(q.URI), nil
	}
	arguments := make(map[string]string)
	if q.Arguments != nil {
		if err := json.Unmarshal(q.Arguments, &arguments); err != nil {
			return staticmcp.Address{}, err
		}
	}
	return staticmcp.PromptAddress(w.prompts[q.Prompt], arguments), nil
}

// differing returns the places at which the texts of answers with one name differ.
func differing(list []one) ([]int, error) {
	first := list[0].address
	if first.URI != "" {
		return []int{len(first.Texts) - 1}, nil
	}
	differs := make([]bool, len(first.Texts))
	for i := range list {
		if list[i].q.Tool != list[0].q.Tool ||
			list[i].q.Prompt != list[0].q.Prompt ||
			len(list[i].address.Texts) != len(first.Texts) {
			return nil, errors.New("they belong to different tools")
		}
		for place, text := range list[i].address.Texts {
			differs[place] = differs[place] || text != first.Texts[place]
		}
		if i > 0 && list[i].key == list[i-1].key {
			return nil, errors.New("no name can tell them apart")
		}
	}
	var places []int
	for place, d := range differs {
		if d {
			places = append(places, place)
		}
	}
	return places, nil
}

// maxListed is the maximum number of answers listed under a shared name.
const maxListed = 1000

// shared creates the answer under a name that several answers share. Readers without
// support for it show it to the model, which can ask again: the names in it are encoded
// to themselves.
func (w *writer) shared(path string, list []one, places []int) (file, error) {
	var b strings.Builder
	fmt.Fprintf(&b,
		"%d answers share this name. Ask again with one of these instead:\n", len(list))
	for i, o := range list {
		if i == maxListed {
			fmt.Fprintf(&b, "and %d more\n", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", w.again(&o, places),
			oneLine(cmp.Or(o.q.Title, o.meant(places))))
	}
	doc, err := w.sharedDocument(list[0].q, b.String(), mark(list[0].address, places))
	if err != nil {
		return file{}, err
	}
	if err := w.keep(file{path: path}, w.document(path, doc), nil); err != nil {
		return file{}, err
	}
	f := w.files[len(w.files)-1]
	w.files = w.files[:len(w.files)-1]
	return f, nil
}

// again returns the arguments or URI with which any reader can request one of several
// answers.
func (w *writer) again(o *one, places []int) string {
	names := o.address.DistinctNames(places...)
	if o.q.URI != "" {
		scheme, _, _ := strings.Cut(o.q.URI, "://")
		return strings.Join([]string{scheme, "://", strings.Join(names, "/")}, "")
	}
	var parts []string
	given := o.names(w)
	for _, place := range places {
		part := names[place]
		if place < len(given) {
			part = given[place] + "=" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// names returns the names of the given arguments.
func (o *one) names(w *writer) []string {
	var given map[string]json.RawMessage
	if json.Unmarshal(o.q.Arguments, &given) != nil {
		return nil
	}
	var names []string
	if o.q.Tool != "" {
		for _, a := range w.tools[o.q.Tool].layout.Arguments() {
			if given[a.Name] != nil {
				names = append(names, a.Name)
			}
		}
		return names
	}
	for _, a := range w.prompts[o.q.Prompt].Arguments {
		text := given[a.Name]
		if text != nil && string(text) != `""` {
			names = append(names, a.Name)
		}
	}
	return names
}

// meant describes an answer by the texts in which it differs from the others.
func (o *one) meant(places []int) string {
	if o.q.URI != "" {
		return o.q.URI
	}
	var texts []string
	for _, place := range places {
		texts = append(texts, o.address.Texts[place])
	}
	return strings.Join(texts, ", ")
}

// mark returns the marker that leads Slipway's reader to the answers themselves.
func mark(a staticmcp.Address, places []int) json.RawMessage {
	switch {
	case a.URI != "":
		return json.RawMessage(`"uri"`)
	case len(places) == 1 && places[0] == len(a.Texts)-1:
		return json.RawMessage("true")
	}
	list := []byte{'['}
	for i, place := range places {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, int64(place), 10)
	}
	return append(list, ']')
}

// sharedDocument returns the answer at a path that several questions share: a text that
// lists how to ask unambiguously.
func (w *writer) sharedDocument(q *question, text string, mark json.RawMessage) ([]byte, error) {
	meta := map[string]json.RawMessage{staticmcp.MetaDisambiguation: mark}
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Role    string `json:"role"`
		Content block  `json:"content"`
	}
	switch {
	case q.Tool != "":
		// If a tool has an outputSchema, clients reject a result without
		// structuredContent unless it is an error.
		return mcp.Marshal(struct {
			Content []block                    `json:"content"`
			IsError bool                       `json:"isError,omitempty"`
			Meta    map[string]json.RawMessage `json:"_meta"`
		}{[]block{{"text", text}}, w.tools[q.Tool].output != nil, meta})
	case q.URI != "":
		return mcp.Marshal(struct {
			URI      string                     `json:"uri"`
			MIMEType string                     `json:"mimeType"`
			Text     string                     `json:"text"`
			Meta     map[string]json.RawMessage `json:"_meta"`
		}{q.URI, "text/plain", text, meta})
	}
	return mcp.Marshal(struct {
		Messages []message                  `json:"messages"`
		Meta     map[string]json.RawMessage `json:"_meta"`
	}{[]message{{"user", block{"text", text}}}, meta})
}
