package inspect_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/slipway-mcp/slipway/inspect"
)

// The page behind the authentication of a program.
func ExampleHandler() {
	src := newOffice()
	in := inspect.Handler([]*inspect.Source{inspect.Served("office", src)}, &inspect.Options{Base: "/inspect/"})
	defer in.Close()
	mux := http.NewServeMux()
	mux.Handle("/inspect/", requireAdmin(http.StripPrefix("/inspect", in)))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in.Owns(r) { // user interfaces of tools, in frames at origins of their own
			in.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/inspect/api/state", nil))
	fmt.Println("a visitor:", answer.Code)
	request := httptest.NewRequest("GET", "/inspect/api/state", nil)
	request.SetBasicAuth("admin", "admin")
	answer = httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println("the admin:", answer.Code)
	// Output:
	// a visitor: 401
	// the admin: 200
}

// requireAdmin stands for the authentication of a program.
func requireAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, _, _ := r.BasicAuth(); name != "admin" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
