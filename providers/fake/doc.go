// Package fake is a cloud that does not exist: an HTTP API with scripted
// resources, prices, lag and faults ([Cloud]), and an ordinary adapter that
// speaks to it through the same transport as every other adapter ([New]).
//
// The API is served in this process by a [net/http.RoundTripper]; there is no
// socket and no wait in it. Its time is what it is told: the instant that a
// request's context carries, or [Cloud.Advance]. One script gives the same run
// every time.
//
// The names in [Script], [Resource], [Event] and [Fault] are the keys of a
// scenario file's account, one for one, so that a file can be read into them.
package fake
