// Package appservers opens the user interfaces of the official MCP App servers in Chromium.
// scripts/apps installs the servers, which are npm packages, and runs the tests.
package appservers
