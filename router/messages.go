package router

import (
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// Messages are the messages of a prompt. Start with [User], [Assistant] or [System]; the
// methods append to them:
//
//	router.User("What is in this picture?").Image(png, "image/png").Assistant("I see")
type Messages []mcp.PromptMessage

// User returns one message from the user. With args, text is a format as in
// [fmt.Sprintf].
func User(text string, args ...any) Messages {
	return Messages{}.User(text, args...)
}

// Assistant returns one message from the model.
func Assistant(text string, args ...any) Messages {
	return Messages{}.Assistant(text, args...)
}

// System returns one message with instructions. No version of the protocol has this role:
// unless [server.Options.KeepSystemRole] is set, clients receive the message with the
// role user.
func System(text string, args ...any) Messages {
	return Messages{}.System(text, args...)
}

// User adds a message from the user.
func (m Messages) User(text string, args ...any) Messages {
	return m.say(mcp.RoleUser, text, args)
}

// Assistant adds a message from the model.
func (m Messages) Assistant(text string, args ...any) Messages {
	return m.say(mcp.RoleAssistant, text, args)
}

// System adds a message with instructions.
func (m Messages) System(text string, args ...any) Messages {
	return m.say(mcp.RoleSystem, text, args)
}

// say formats only if args exist, so that a text with "%" can be passed alone.
func (m Messages) say(role, text string, args []any) Messages {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return m.Add(role, mcp.Text(text))
}

// Image adds a picture with the role of the previous message, by default the user's.
func (m Messages) Image(data []byte, mimeType string) Messages {
	return m.Add(m.role(), mcp.Image(data, mimeType))
}

// Audio adds a sound, with the role that Image would use.
func (m Messages) Audio(data []byte, mimeType string) Messages {
	return m.Add(m.role(), mcp.Audio(data, mimeType))
}

// Resource adds a resource with its contents, with the role that Image would use.
func (m Messages) Resource(contents mcp.ResourceContents) Messages {
	return m.Add(m.role(), mcp.EmbeddedResource(contents))
}

// Link adds a link to a resource, with the role that Image would use.
func (m Messages) Link(r mcp.Resource) Messages {
	return m.Add(m.role(), mcp.ResourceLink(r))
}

// Add adds a message of any role and content. It does not modify m.
func (m Messages) Add(role string, c mcp.Content) Messages {
	return append(m[:len(m):len(m)], mcp.PromptMessage{
		Role:    role,
		Content: c,
	})
}

// role returns the role that a following block continues.
func (m Messages) role() string {
	if len(m) == 0 {
		return mcp.RoleUser
	}
	return m[len(m)-1].Role
}
