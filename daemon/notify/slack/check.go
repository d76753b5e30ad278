package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/slack-go/slack"

	"guard"
)

// Check asks, without a post, whether the token is good and may post, and whether the
// bot is in the channel. It returns who the bot is and where.
func (c *Channel) Check(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("%w: ask slack: not begun: %v", guard.ErrUnavailable, err)
	}
	who, err := c.client.AuthTestContext(ctx)
	if err != nil {
		return "", explain("sign in to", c.target, err)
	}
	// Slack lists what the token may do in a header; where it does not, only a post
	// tells.
	if scopes := strings.FieldsFunc(who.Header.Get("X-Oauth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' }); len(scopes) > 0 && !slices.Contains(scopes, "chat:write") {
		return "", fmt.Errorf("%w: post to slack %s: the token has no scope chat:write; add it to the app and install it again", guard.ErrPermission, c.target)
	}
	id, err := c.channelID(ctx)
	if err != nil {
		return "", err
	}
	info, err := c.client.GetConversationInfoContext(ctx, &api.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return "", explain("look at", c.target, err)
	}
	switch {
	case info.ID != id:
		return "", fmt.Errorf("%w: look at slack %s: the answer is about another channel", guard.ErrBadReply, c.target)
	case info.IsArchived:
		return "", fmt.Errorf("%w: slack %s: %s", guard.ErrNotFound, c.target, todo["is_archived"])
	case !info.IsMember:
		return "", fmt.Errorf("%w: slack %s: the bot is not in the channel; invite it there: /invite @%s", guard.ErrPermission, c.target, guard.Plain(who.User))
	}
	return guard.Plain(fmt.Sprintf("%s as @%s in %s", c.target, who.User, who.Team)), nil
}
