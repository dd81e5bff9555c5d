// Package sitewriter writes StaticMCP sites.
//
// A builder (of documents, tables, or a frozen live server) provides a [Site]:
// definitions, and answers one by one. [Write] determines the path of each answer and
// writes the site to an [Output]: a folder, of which only changed files are written, an
// archive, or memory.
//
// Users import this package through the facade sitebuild.
package sitewriter
