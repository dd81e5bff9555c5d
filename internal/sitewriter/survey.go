package sitewriter

import "context"

// Surveyor is an [Input] that can describe its site without reading all of it.
type Surveyor interface {
	Input
	// Survey returns the definitions of the site: Server, Instructions, Tools, Templates and
	// Prompts as Site would return them, unless something that was not read changes them.
	// Answers is nil, and Resources yields some of the resources. An input that cannot
	// be built at all, such as an empty folder, is an error.
	Survey(ctx context.Context) (*Site, error)
}

// Survey returns the definitions of the site that in builds. For an input that is not a
// [Surveyor] it returns the whole site, whose Answers are not nil.
func Survey(ctx context.Context, in Input) (*Site, error) {
	if s, ok := in.(Surveyor); ok {
		return s.Survey(ctx)
	}
	return in.Site(ctx)
}

// progressKey is the key of the function of [WithProgress].
type progressKey struct{}

// WithProgress returns a context in which inputs report their progress to report. It may
// be called concurrently.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Report reports p to the function of [WithProgress], if there is one. Inputs call it for
// each item they read; only some of the calls are passed on.
func (p Progress) Report(ctx context.Context) {
	report, ok := ctx.Value(progressKey{}).(func(Progress))
	if ok && (p.Done%progressStep == 0 || p.Done == p.Total) {
		report(p)
	}
}
