package serve

import (
	"context"
	"sync"
)

// checkIssuers fetches the keys of all issuers of tokens in the background, and warns about those whose
// keys it does not get, as after a typing error. Tokens are verified all the same: the issuer may recover.
// stop ends the requests and waits for them.
func (o *Options) checkIssuers(ctx context.Context) (stop func()) {
	if o.Auth == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var checks sync.WaitGroup
	for _, v := range o.Auth.Verifiers {
		v, ok := v.(*JWT)
		if !ok || v.opts.Keys != nil {
			continue
		}
		checks.Go(func() {
			if err := v.keys.prepare(ctx); err != nil && ctx.Err() == nil {
				o.Logger.Warn("keys of an issuer not available, its tokens cannot be verified",
					"issuer", v.opts.Issuer,
					"error", err,
				)
			}
		})
	}
	return func() {
		cancel()
		checks.Wait()
	}
}
