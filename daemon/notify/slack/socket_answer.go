package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"guard"
	"guard/daemon/wire"
	"guard/policy/say"
)

// Slack's limits of forms, from docs.slack.dev/reference/views and /block-kit, in
// characters, and our own of answers: a form's answer has to fit into an acknowledgement.
const (
	maxModalTitle = 24
	maxInputLabel = 150
	maxInput      = 3000
	maxWrong      = 500
	maxMetadata   = 3000
	maxAnswer     = 2900 // a section of one
	answerParts   = 3
)

// deal carries a gesture out and answers it. A form that takes longer than patience, if
// that is not zero, is answered in two steps.
func (s *Socket) deal(ctx context.Context, g gesture, ack func(payload any), handle Handler, patience time.Duration) {
	handle = s.safely(handle)
	if !g.form {
		s.reply(ctx, g, handle(ctx, g.click))
		return
	}
	if patience == 0 {
		ack(s.shown(handle(ctx, g.click)))
		return
	}
	answers := make(chan wire.ClickAnswer, 1)
	go func() { answers <- handle(ctx, g.click) }()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case a := <-answers:
		ack(s.shown(a))
	case <-t.C:
		ack(s.shown(wire.ClickAnswer{Text: say.In(s.lang, "guard is at it; what comes of it will stand here.")}))
		a := <-answers
		a.Lines = append(a.Lines, wrongs(a)...)
		if _, err := s.client.UpdateViewContext(ctx, s.result(a), "", "", g.view); err != nil {
			s.log.Warn("an answer was not shown in its form", "error", explain("update a form of", "Socket Mode", err).Error())
			s.reply(ctx, g, a)
		}
	}
}

// wrongs are what is wrong with a form that is no longer open.
func wrongs(a wire.ClickAnswer) (lines []string) {
	for field, why := range a.Wrong {
		lines = append(lines, field+": "+why)
	}
	return lines
}

// shown is how a form that was sent goes on: it stays open with what is wrong, asks
// something else, or tells what came of it.
func (s *Socket) shown(a wire.ClickAnswer) any {
	switch {
	case len(a.Wrong) > 0:
		wrong := map[string]string{}
		for field, why := range a.Wrong {
			wrong[field] = cut(guard.Plain(why), maxWrong)
		}
		return map[string]any{"response_action": "errors", "errors": wrong}
	case a.Ask != nil:
		if form, ok := s.form(*a.Ask, ""); ok {
			return map[string]any{"response_action": "update", "view": form}
		}
	}
	return map[string]any{"response_action": "update", "view": s.result(a)}
}

// reply tells the one person who asked, or shows them a form.
func (s *Socket) reply(ctx context.Context, g gesture, a wire.ClickAnswer) {
	if a.Ask != nil {
		form, ok := s.form(*a.Ask, g.place)
		if ok {
			_, err := s.client.OpenViewContext(ctx, g.trigger, form)
			if err == nil {
				return
			}
			s.log.Warn("a form was not shown", "error", explain("show a form of", "Socket Mode", err).Error())
		}
		a = wire.ClickAnswer{Text: say.In(s.lang, "guard could not show its form in time. Try again, or use the command line: guard help")}
	}
	text, blocks := answer(a)
	err := s.respond(ctx, g.response, text, blocks)
	if err != nil && g.place != "" {
		_, err = s.client.PostEphemeralContext(ctx, g.place, g.click.User, api.MsgOptionText(text, false), api.MsgOptionBlocks(blocks...))
		if err != nil {
			err = explain("answer a click of", "Socket Mode", err)
		}
	}
	if err != nil {
		s.log.Warn("a click was not answered", "error", err.Error())
	}
}

// respond posts to the address that came with a click: only Slack's own, or the configured
// endpoint's host, and with no token.
func (s *Socket) respond(ctx context.Context, address, text string, blocks []api.Block) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || !(u.Scheme == "https" && u.Host == "hooks.slack.com") && !(s.test != nil && u.Scheme == s.test.Scheme && u.Host == s.test.Host) {
		return fmt.Errorf("%w: answer a click: its response_url is not Slack's", guard.ErrRefused)
	}
	body, err := json.Marshal(map[string]any{"response_type": "ephemeral", "replace_original": false, "text": text, "blocks": blocks})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: answer a click: its response_url is none", guard.ErrInvalid)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := s.rim.client.Do(req)
	if err != nil {
		class, _ := broken(err)
		return fmt.Errorf("%w: answer a click: %s", guard.ErrUnavailable, class)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: answer a click: slack answers %d", guard.ErrUnavailable, resp.StatusCode)
	}
	return nil
}

// answer is an answer as Slack takes it. Text from outside is plain text in it, or in a
// code block that it cannot end.
func answer(a wire.ClickAnswer) (text string, blocks []api.Block) {
	if text = brief(a.Text, maxAnswer); text == "" {
		text = "…"
	}
	blocks = append(blocks, api.NewSectionBlock(plainText(text), nil, nil))
	lines := make([]string, 0, len(a.Lines))
	for _, l := range a.Lines {
		if l = quiet(guard.Plain(l)); !visible(l) {
			continue
		}
		if a.Aligned {
			l = strings.ReplaceAll(l, "`", "'")
		}
		lines = append(lines, l)
	}
	for part := 0; len(lines) > 0 && part < answerParts; part++ {
		section, n, _ := pack(lines, maxAnswer)
		lines = lines[n:]
		if len(lines) > 0 && part == answerParts-1 {
			section += "\n" + cutMark
		}
		if a.Aligned {
			code := api.NewTextBlockObject(api.MarkdownType, "```\n"+section+"\n```", false, true)
			blocks = append(blocks, api.NewSectionBlock(code, nil, nil))
			continue
		}
		blocks = append(blocks, api.NewSectionBlock(plainText(section), nil, nil))
	}
	return text, blocks
}

// form is a form of ours as Slack shows it; false where what it carries is too long.
func (s *Socket) form(f wire.Form, place string) (api.ModalViewRequest, bool) {
	carried, err := json.Marshal(metadata{f.Message, f.Offer, f.Key, f.Nth, f.State, place})
	if err != nil || len(carried) > maxMetadata {
		return api.ModalViewRequest{}, false
	}
	v := s.modal(f.Title)
	v.Submit, v.PrivateMetadata = plainText(brief(f.Send, maxModalTitle)), string(carried)
	if f.About != "" {
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, api.NewSectionBlock(plainText(brief(f.About, maxAnswer)), nil, nil))
	}
	for _, field := range f.Fields {
		input := api.NewPlainTextInputBlockElement(nil, "typed")
		input.MaxLength, input.InitialValue = maxInput, field.Value
		if field.Most > 0 {
			input.MaxLength = min(field.Most, maxInput)
		}
		var hint *api.TextBlockObject
		if field.Hint != "" {
			hint = plainText(brief(field.Hint, maxInputLabel))
		}
		block := api.NewInputBlock(field.Name, plainText(brief(field.Label, maxInputLabel)), hint, input)
		block.Optional = field.Optional
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, block)
	}
	return v, true
}

// result is a form's last view: what came of it.
func (s *Socket) result(a wire.ClickAnswer) api.ModalViewRequest {
	v := s.modal("guard")
	a.Lines = a.Lines[:min(len(a.Lines), 20)]
	_, v.Blocks.BlockSet = answer(a)
	v.Blocks.BlockSet = v.Blocks.BlockSet[:min(len(v.Blocks.BlockSet), 2)] // an acknowledgement has little room
	return v
}

func (s *Socket) modal(title string) api.ModalViewRequest {
	return api.ModalViewRequest{Type: api.VTModal, CallbackID: formID, Title: plainText(brief(title, maxModalTitle)),
		Close: plainText(say.In(s.lang, "Close"))}
}

func (s *Socket) busy() wire.ClickAnswer {
	return wire.ClickAnswer{Text: say.In(s.lang, "Too many click at once, so nothing was done. Try again in a minute.")}
}

func (s *Socket) broken() wire.ClickAnswer {
	return wire.ClickAnswer{Text: say.In(s.lang, "guard failed at this in a way it should not; its log has the details. The command line works too: guard help")}
}

// cut keeps s within n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
