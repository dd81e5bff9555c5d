package main

import (
	"fmt"
	"strconv"
	"strings"
)

// reference contains all data of the site.
type reference struct {
	statuses  []status
	byCode    map[int]status
	topics    []topic
	methods   []method
	languages []language
}

func newReference() reference {
	r := reference{
		statuses: statuses(), byCode: make(map[int]status),
		topics: topics(), methods: methods(), languages: languages(),
	}
	for _, s := range r.statuses {
		r.byCode[s.code] = s
	}
	return r
}

// build returns the files of the site by path.
func build() (map[string][]byte, error) {
	r := newReference()
	s := &site{files: map[string][]byte{".nojekyll": {}}}
	r.describe(s)
	r.addStatuses(s)
	r.addMethods(s)
	r.addFields(s)
	r.addGuides(s)
	r.addGlossary(s)
	r.addChart(s)
	r.addPrompts(s)
	s.put("mcp.json", s.manifest)
	return s.files, s.err
}

func (r reference) describe(s *site) {
	var topicNames, methodNames, tags []string
	for _, t := range r.topics {
		topicNames = append(topicNames, t.name)
	}
	for _, m := range r.methods {
		methodNames = append(methodNames, m.name)
	}
	for _, l := range r.languages {
		tags = append(tags, l.tag)
	}
	s.manifest = manifest{
		ProtocolVersion: "2025-11-25",
		ServerInfo:      serverInfo{Name: "http-reference", Title: "HTTP reference", Version: "1.0.0"},
		Instructions: "A reference of HTTP as of RFC 9110, 9111 and 9112 and the IANA registries. " +
			"Use get_status for a status code, find_header for a header field and compare_methods for two methods; the list tools show what there is. " +
			"The guides under http://guide explain a subject as a whole. Answers name the section they rest on.",
		Capabilities: capabilities{
			ResourceTemplates: []resourceTemplate{
				{"http://status/{code}", "Status code", "One status code, such as http://status/404.", markdownType},
				{"http://method/{name}", "Request method", "One request method, such as http://method/GET.", markdownType},
				{
					"http://header/{name}",
					"Header field",
					"One header field in lower case, such as http://header/content-type.",
					markdownType,
				},
				{"http://guide/{topic}", "Guide", "One guide, such as http://guide/caching.", markdownType},
				{
					"http://glossary/{language}",
					"Error pages in a language",
					"Words for error pages, such as http://glossary/ja.",
					markdownType,
				},
			},
			Tools:   tools(topicNames, methodNames, tags),
			Prompts: []prompt{explainStatus, chooseMethod, reviewExchange},
		},
	}
}

func (r reference) addStatuses(s *site) {
	all := listStatuses(r.statuses, 0)
	s.addText("http://status", "Status codes", "All status codes with one sentence each.", all)
	s.addAnswer("list_statuses", all)
	for class := 1; class <= 5; class++ {
		s.addAnswer("list_statuses", listStatuses(r.statuses, class), fmt.Sprintf("%dxx", class))
	}
	for _, one := range sortedByCode(r.statuses) {
		text, code := one.markdown(r.byCode), strconv.Itoa(one.code)
		s.addAnswer("get_status", text, code)
		file := s.addText(one.uri(), one.name(), firstSentence(one.meaning), text)
		s.addPrompt(explainStatus.Name, explainStatusFor(one, file), code)
	}
}

func (r reference) addMethods(s *site) {
	var list strings.Builder
	list.WriteString("# HTTP request methods\n\nMethods are case-sensitive. Ask compare_methods for two of them.\n\n")
	for _, m := range r.methods {
		list.WriteString(m.line() + "\n")
	}
	s.addText("http://method", "Request methods", "All request methods with one sentence each.", list.String())
	for _, a := range r.methods {
		s.addText(a.uri(), a.name, firstSentence(a.meaning), a.markdown(r.byCode))
		for _, b := range r.methods {
			s.addAnswer("compare_methods", compareMethods(a, b), a.name, b.name)
		}
	}
}

func (r reference) addFields(s *site) {
	all := listHeaders(r.topics, "")
	s.addText("http://header", "Header fields", "All header fields by topic, with one sentence each.", all)
	s.addAnswer("list_headers", all)
	for _, t := range r.topics {
		s.addAnswer("list_headers", listHeaders(r.topics, t.name), t.name)
	}
	for _, f := range allFields(r.topics) {
		s.addText(f.uri(), f.name, firstSentence(f.meaning), f.markdown())
		s.addAnswer("find_header", f.markdown(), f.name)
	}
}

func (r reference) addGuides(s *site) {
	var list strings.Builder
	list.WriteString("# Guides\n\n")
	type page struct{ uri, title, description, text string }
	var pages []page
	for _, g := range guides {
		title, description, text, err := g.read()
		if err != nil {
			s.err = err
			return
		}
		pages = append(pages, page{g.uri(), title, description, text})
		fmt.Fprintf(&list, "- %s (%s): %s\n", title, g.uri(), description)
	}
	s.addText("http://guide", "Guides", "All guides with one sentence each.", list.String())
	for _, p := range pages {
		s.addText(p.uri, p.title, p.description, p.text)
	}
}

func (r reference) addGlossary(s *site) {
	for _, l := range r.languages {
		s.addText(l.uri(), "Error pages in "+l.name,
			fmt.Sprintf("Words for error pages in %s (%s).", l.name, l.own), l.markdown(r.byCode))
		for _, code := range glossaryCodes {
			s.addAnswer("localize_status", localizeStatus(r.byCode[code], l), strconv.Itoa(code), l.tag)
		}
	}
}

func (r reference) addChart(s *site) {
	counts := registered(r.statuses)
	data, err := encodeChart(classChart(counts))
	if err != nil {
		s.err = err
		return
	}
	s.addResource("Chart of the status code classes",
		fmt.Sprintf("A bar chart of the registered status codes by class: 1xx %d, 2xx %d, 3xx %d, 4xx %d, 5xx %d.",
			counts[1], counts[2], counts[3], counts[4], counts[5]),
		resourceFile{URI: "http://chart/status-classes.png", MIMEType: "image/png", Blob: data})
}

func (r reference) addPrompts(s *site) {
	s.addPrompt(chooseMethod.Name, chooseMethodAny())
	s.addPrompt(reviewExchange.Name, reviewExchangeAny())
	byName := make(map[string]method)
	for _, m := range r.methods {
		byName[m.name] = m
	}
	for _, t := range tasks() {
		comparison := compareMethods(byName[t.candidates[0]], byName[t.candidates[1]])
		s.addPrompt(chooseMethod.Name, chooseMethodFor(t, comparison), t.name)
	}
}
