package interop_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const goodToken = "interop-4f9c1d2e7b8a55aa"

// bearer is a transport that sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// serveWithTokens serves the example to clients with a token.
func serveWithTokens(t *testing.T, flags ...string) target {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("interop "+goodToken+" read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	example := filepath.Join("..", "examples", "http-reference")
	return serve(t, append([]string{example, "--auth-token-file", file, "--require-scope", "read"}, flags...)...)
}

// TestBearer connects third-party clients with and without a token.
func TestBearer(t *testing.T) {
	to := serveWithTokens(t)
	call := func(t *testing.T, c client) {
		t.Helper()
		defer c.close()
		if _, err := c.call(limited(t), "get_status", object{"code": 404}); err != nil {
			t.Errorf("call: %v", err)
		}
	}
	for _, version := range []string{v1125, v0728} {
		t.Run("go-sdk/"+version, func(t *testing.T) {
			call(t, dialGoSDK(t, &mcp.StreamableClientTransport{
				Endpoint: to.endpoint, HTTPClient: &http.Client{Transport: bearer(goodToken)}}, version, nil))
		})
		t.Run("mcp-go/"+version, func(t *testing.T) {
			over, err := transport.NewStreamableHTTP(to.endpoint,
				transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + goodToken}))
			if err != nil {
				t.Fatal(err)
			}
			call(t, dialMCPGo(t, over, version))
		})
	}
	for name, httpClient := range map[string]*http.Client{
		"go-sdk/no token":    http.DefaultClient,
		"go-sdk/wrong token": {Transport: bearer("wrong-0123456789abcdef")},
	} {
		t.Run(name, func(t *testing.T) {
			c := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil)
			session, err := c.Connect(limited(t),
				&mcp.StreamableClientTransport{Endpoint: to.endpoint, HTTPClient: httpClient, MaxRetries: -1}, nil)
			if err == nil {
				session.Close()
				t.Fatal("connected, want to be refused")
			}
			if !strings.Contains(err.Error(), "Unauthorized") && !strings.Contains(err.Error(), "401") {
				t.Errorf("error = %v, want one that says 401", err)
			}
		})
	}
}

// TestTypeScriptBearer does the same with both generations of the TypeScript SDK, which
// also read the challenge and the metadata.
func TestTypeScriptBearer(t *testing.T) {
	tools := nodeTools(t)
	to := serveWithTokens(t, "--auth-server", "https://id.example.com")
	cmd := exec.Command(tools.node(), filepath.Join("node", "bearer.mjs"), to.endpoint, goodToken)
	cmd.Env = append(os.Environ(), toolsVariable+"="+string(tools))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bearer.mjs: %v\n%s%s", err, out, &stderr)
	}
	var checks map[string]string
	if err := json.Unmarshal(out, &checks); err != nil || len(checks) < 8 {
		t.Fatalf("bearer.mjs printed %s: %v", out, err)
	}
	for name, problem := range checks {
		t.Run(name, func(t *testing.T) {
			if problem != "" {
				t.Error(problem)
			}
		})
	}
}

// TestProtectedResource reads the challenge, and the metadata that it refers to, with the
// official Go SDK.
func TestProtectedResource(t *testing.T) {
	to := serveWithTokens(t, "--auth-server", "https://id.example.com")
	got, err := http.Post(to.endpoint, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(got.Header["Www-Authenticate"])
	if err != nil || len(challenges) != 1 || challenges[0].Scheme != "bearer" || challenges[0].Params["scope"] != "read" {
		t.Fatalf("challenges = %+v, %v, from %v", challenges, err, got.Header)
	}
	meta, err := oauthex.GetProtectedResourceMetadata(limited(t), challenges[0].Params["resource_metadata"], to.endpoint,
		http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if len(meta.AuthorizationServers) != 1 || meta.AuthorizationServers[0] != "https://id.example.com" {
		t.Errorf("authorization servers = %v", meta.AuthorizationServers)
	}
}

// TestIssuer serves with tokens from an authorization server, whose keys slipway finds
// through its metadata. The test signs the tokens itself.
func TestIssuer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	t.Cleanup(issuer.Close)
	answer := func(path string, document any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(document) })
	}
	encode := base64.RawURLEncoding.EncodeToString
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	answer("/.well-known/oauth-authorization-server", object{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys"})
	answer("/keys", object{
		"keys": []object{{"kty": "EC", "crv": "P-256", "kid": "one", "x": encode(point[1:33]), "y": encode(point[33:])}},
	})
	sign := func(claims object) string {
		header, _ := json.Marshal(object{"alg": "ES256", "kid": "one", "typ": "at+jwt"})
		payload, _ := json.Marshal(claims)
		text := encode(header) + "." + encode(payload)
		sum := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		return text + "." + encode(signature)
	}
	to := serve(t, filepath.Join("..", "examples", "http-reference"),
		"--auth-issuer", issuer.URL, "--auth-audience", "https://mcp.example.com/mcp")
	for _, tt := range []struct {
		name   string
		change object
		status int
	}{
		{"good", nil, 200},
		{"for another", object{"aud": "https://other.example.com"}, 401},
		{"expired", object{"exp": time.Now().Add(-time.Hour).Unix()}, 401},
		{"of another", object{"iss": "https://other.example.com"}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claims := object{
				"iss": issuer.URL,
				"aud": "https://mcp.example.com/mcp",
				"sub": "ann",
				"exp": time.Now().Add(time.Hour).Unix(),
			}
			for name, value := range tt.change {
				claims[name] = value
			}
			r, err := http.NewRequest(http.MethodPost, to.endpoint,
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			got, err := (&http.Client{Transport: bearer(sign(claims))}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			if got.StatusCode != tt.status {
				t.Errorf("status %d, want %d", got.StatusCode, tt.status)
			}
		})
	}
}

// TestPrometheusReadsOurMetrics parses a scrape with the parser of Prometheus.
func TestPrometheusReadsOurMetrics(t *testing.T) {
	to := serve(t, filepath.Join("..", "examples", "http-reference"))
	c := dialGoSDKHTTP(t, to.endpoint, v1125)
	for _, code := range []int{404, 404, 999} {
		_, _ = c.call(limited(t), "get_status", object{"code": code}) // 999 is expected to fail
	}
	c.close()
	got, err := http.Get(strings.TrimSuffix(to.endpoint, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"mcp_server_session_duration_seconds", "mcp_server_refused_total", "mcp_server_requests_in_flight",
		"mcp_server_sessions", "mcp_server_streams", "slipway_build_info", "process_start_time_seconds",
	} {
		if f := families[name]; f == nil || len(f.Metric) == 0 || f.GetHelp() == "" {
			t.Errorf("%s is not there: %v", name, f)
		}
	}
	calls := map[string]uint64{}
	for _, m := range families["mcp_server_operation_duration_seconds"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.Label {
			labels[l.GetName()] = l.GetValue()
		}
		if n := len(m.Histogram.Bucket); n != 15 {
			t.Errorf("%v has %d buckets, want 15", labels, n)
		}
		if labels["mcp_method_name"] == "tools/call" {
			calls[labels["gen_ai_tool_name"]+" "+labels["error_type"]] = m.Histogram.GetSampleCount()
		}
	}
	if calls["get_status "] != 2 || calls["get_status tool_error"] != 1 || len(calls) != 2 {
		t.Errorf("calls = %v, want two that went well and one tool_error", calls)
	}
}
