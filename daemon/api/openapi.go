package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"guard"
	"guard/daemon/wire"
)

// scheme is the name of the security scheme in the OpenAPI description.
const scheme = "token"

// roleKey tells in the description which role an operation needs.
const roleKey = "x-guard-role"

// slowest is how long the body of a request may take to come: a box behind a slow line
// sends what has waited for an hour.
const slowest = 20 * time.Second

// describe fills in what the description says of the whole API.
func describe(config *huma.Config) {
	config.Info.Description = "Watches rented GPU machines, counts what they cost and releases what has crossed its limit. " +
		"Every operation names the role that it needs as " + roleKey + "; whoever is a viewer may also change what is registered under their own name. " +
		"At the Unix socket the caller is the user who connects, and a token is not needed."
	config.OpenAPIPath = wire.Prefix + "/openapi"
	config.DocsPath = "" // its page loads from a CDN
	config.SchemasPath = ""
	config.CreateHooks = nil // no $schema in the bodies: they are wire's and nothing more
	config.Transformers = nil
	config.RejectUnknownQueryParameters = true
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		scheme: {Type: "http", Scheme: "bearer", Description: "A token that guard token create has made: " + tokenPrefix + "ID.SECRET."},
	}
}

// problems are what any operation may answer but success: a request that cannot be
// read, a caller who is not known, who may not, or who asks too often, and guardd's
// own trouble. refusals are what an order may be answered besides.
var (
	problems = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable}
	refusals = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusLocked,
		http.StatusNotImplemented, http.StatusBadGateway, http.StatusGatewayTimeout}
)

// operation describes one route.
func (s *server) operation(method, name, summary string, needs guard.Role) huma.Operation {
	o := huma.Operation{OperationID: name, Method: method, Path: wire.Prefix + "/" + name, Summary: summary,
		Security: []map[string][]string{{scheme: {}}}, Extensions: map[string]any{roleKey: string(needs)},
		MaxBodyBytes: mostBody, BodyReadTimeout: slowest, Responses: map[string]*huma.Response{}}
	body := s.body(reflect.TypeFor[wire.Error]())
	answers := problems
	if method == http.MethodPost {
		answers = slices.Concat(problems, refusals)
	}
	for _, status := range answers {
		o.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: body}
	}
	return o
}

// watched describes the route of the daemon's health: that it is not well is an
// answer, too.
func (s *server) watched() huma.Operation {
	o := s.operation(http.MethodGet, "healthz", "Whether the loops run", guard.Viewer)
	o.Responses[strconv.Itoa(http.StatusServiceUnavailable)].Content = s.body(reflect.TypeFor[wire.Health]())
	return o
}

func (s *server) body(t reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s.api.OpenAPI().Components.Schemas.Schema(t, true, "")}}
}
