package main

import (
	"fmt"
	"strings"
)

// prompt is one prompt of the manifest with all its precomputed answers.
type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []promptArgument `json:"arguments,omitempty"`
}

type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required,omitempty"`
}

// promptResult is the result of prompts/get, and the content of a prompt file.
type promptResult struct {
	Description string          `json:"description"`
	Messages    []promptMessage `json:"messages"`
}

type promptMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func userText(text string) promptMessage {
	return promptMessage{"user", content{Type: "text", Text: text}}
}

// attached returns a message with a resource of the site.
func attached(r resourceFile) promptMessage {
	return promptMessage{"user", content{Type: "resource", Resource: &r}}
}

var explainStatus = prompt{
	Name:        "explain_status",
	Title:       "Explain a status code",
	Description: "Explains one status code to somebody who has just met it, with the reference attached.",
	Arguments:   []promptArgument{{Name: "code", Description: "A status code, such as 404.", Required: true}},
}

func explainStatusFor(s status, r resourceFile) promptResult {
	return promptResult{
		Description: "Explain " + s.name(),
		Messages: []promptMessage{
			userText(fmt.Sprintf(
				"I have just met the HTTP status %s. Explain to me in plain words what it means, what most likely caused it and what I should do next, first as the client and then as the operator of the server. Ask me for the request and the response if you need them. Base the answer on the attached reference and say so where you go beyond it.",
				s.name())),
			attached(r),
		},
	}
}

var chooseMethod = prompt{
	Name:        "choose_method",
	Title:       "Choose a request method",
	Description: "Helps to choose the method for an operation of an API. Without a task it asks for one.",
	Arguments: []promptArgument{{
		Name:        "task",
		Description: "What the operation does: " + strings.Join(taskNames(), ", ") + ".",
	}},
}

// task is an API operation and its candidate methods.
type task struct {
	name       string
	says       string
	candidates [2]string
}

func tasks() []task {
	return []task{
		{"create", "creates a new item in a collection", [2]string{"POST", "PUT"}},
		{"read", "reads an item or a list", [2]string{"GET", "HEAD"}},
		{"search", "searches with many or structured parameters", [2]string{"QUERY", "GET"}},
		{"replace", "stores a complete new version of an item", [2]string{"PUT", "PATCH"}},
		{"change", "changes a part of an item", [2]string{"PATCH", "PUT"}},
		{"remove", "removes an item", [2]string{"DELETE", "POST"}},
		{"check", "checks whether an item exists or has changed", [2]string{"HEAD", "GET"}},
		{"discover", "finds out what a client may do with an item", [2]string{"OPTIONS", "HEAD"}},
		{"trigger", "starts an action that is more than storing data", [2]string{"POST", "PUT"}},
	}
}

func taskNames() []string {
	var names []string
	for _, t := range tasks() {
		names = append(names, t.name)
	}
	return names
}

func chooseMethodAny() promptResult {
	return promptResult{
		Description: "Choose a request method",
		Messages: []promptMessage{userText(
			"Help me to choose the HTTP method for an operation of my API. Ask me first what the operation does, who chooses the URI, whether repeating it does harm, and how large its parameters are. Then recommend one method, say why the nearest alternative is worse (compare_methods has the facts), and name the status codes the operation should answer with."),
		},
	}
}

func chooseMethodFor(t task, comparison string) promptResult {
	return promptResult{
		Description: "Choose a request method to " + t.name,
		Messages: []promptMessage{
			userText(fmt.Sprintf(
				"An operation of my API %s. Recommend an HTTP method for it. Ask me about whatever could change the answer, such as who chooses the URI and whether repeating it does harm, and name the status codes the operation should answer with. This comparison of the two obvious candidates may help:",
				t.says)),
			userText(comparison),
		},
	}
}

var reviewExchange = prompt{
	Name:        "review_exchange",
	Title:       "Review an HTTP exchange",
	Description: "Reviews a request and its response that the user pastes, against the references of this server.",
}

func reviewExchangeAny() promptResult {
	return promptResult{
		Description: reviewExchange.Description,
		Messages: []promptMessage{userText(
			"Review the HTTP exchange that I am going to paste: the request and the response, with header fields. Check the method, the status code and each header field with get_status, find_header and compare_methods. List what breaks a rule (with the section), then what is allowed but unwise (caching, conditions, security), then what is missing. Begin by asking me for the exchange."),
		},
	}
}
