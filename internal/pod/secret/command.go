package secret

import (
	"path"
	"strings"
)

// command is a program that takes a password in an argument.
type command struct {
	// program is its name; with a * at its end what their names begin with.
	program string
	// login: only after this word, as docker login.
	login string
	// attached are flags whose value follows at once, as mysql -pX; separate those that have
	// it in the next argument, short ones also attached.
	attached, separate []string
}

var commands = []command{
	{program: "mysql*", attached: []string{"-p"}}, {program: "mariadb*", attached: []string{"-p"}},
	{program: "curl", separate: []string{"-u", "--user", "-U", "--proxy-user"}},
	{program: "sshpass", separate: []string{"-p"}}, {program: "redis-cli", separate: []string{"-a"}}, {program: "valkey-cli", separate: []string{"-a"}},
	{program: "mongo*", separate: []string{"-p"}}, {program: "ldap*", separate: []string{"-w"}}, {program: "sqlcmd", separate: []string{"-P"}},
	{program: "mosquitto_*", separate: []string{"-P"}}, {program: "ipmitool", separate: []string{"-P"}}, {program: "smbclient", separate: []string{"-U"}},
	{program: "docker", login: "login", separate: []string{"-p"}}, {program: "podman", login: "login", separate: []string{"-p"}}, {program: "nerdctl", login: "login", separate: []string{"-p"}},
	{program: "buildah", login: "login", separate: []string{"-p"}}, {program: "helm", login: "login", separate: []string{"-p"}}, {program: "az", login: "login", separate: []string{"-p"}}, {program: "oc", login: "login", separate: []string{"-p"}},
	{program: "skopeo", separate: []string{"--creds", "--src-creds", "--dest-creds"}}, {program: "crictl", separate: []string{"--creds", "--auth"}}, {program: "ctr", separate: []string{"-u", "--user"}},
	{program: "openssl", separate: []string{"-passin", "-passout", "-pass"}},
}

// programs are the words that scan looks for.
var programs = func() (all []string) {
	for _, c := range commands {
		all = append(all, strings.TrimSuffix(c.program, "*"))
	}
	return all
}()

// maxCommand bounds how far after the name of a program its arguments are looked at, in bytes, and
// maxWords how many are.
const maxCommand, maxWords = 512, 48

// argument finds the password after the name of a program, in a command line of a shell, a list
// of JSON or YAML, or as Go prints one.
func argument(text string, at, _ int) (from, to int) {
	if at > 0 && (isKey(text[at-1]) && !afterEscape(text, at)) {
		return 0, 0
	}
	end := until(text[:min(len(text), at+maxKey)], at, func(c byte) bool { return !isKey(c) })
	c := commandOf(text[at:end])
	if c == nil {
		return 0, 0
	}
	limit, last, login := min(len(text), end+maxCommand), "", c.login == ""
	for range maxWords {
		begin, word := nextWord(text, end, limit)
		if word == begin || begin == limit {
			break
		}
		argument := text[begin:word]
		if n := c.password(last, argument); login && n >= 0 && argument[n:] != Placeholder {
			return begin + n, word
		}
		login = login || argument == c.login
		last, end = argument, word
	}
	return 0, 0
}

// nextWord returns the range of the next word of a command, an empty one at its end.
func nextWord(text string, at, limit int) (from, to int) {
	const between = " \t\"'\\,[]"
	for at < limit {
		switch c := text[at]; {
		case strings.IndexByte(between, c) >= 0:
			mark := skip(text, at, `\`)
			if mark < limit && (text[mark] == '"' || text[mark] == '\'') && mark+1 < limit && strings.IndexByte(between, text[mark+1]) < 0 && at > 0 && !isKey(text[at-1]) {
				return mark + 1, max(mark+2, closing(text[:limit], text[at:mark+1], mark+1))
			}
			if mark > at && mark < limit && text[mark] == '\n' {
				mark++ // a line goes on
			}
			at = max(at+1, mark)
		case c == '\n' && beginsItem(text[at+1:limit]):
			at += 1 + strings.IndexByte(text[at+1:], '-') + 1
		case strings.IndexByte("\n\r;|&()<>{}#", c) >= 0:
			return at, at
		default:
			end := at
			for end < limit && strings.IndexByte(" \t\r\n\"',[];|&()", text[end]) < 0 {
				if text[end] == '\\' {
					var one escaped
					char, n := escape(text[end:limit], &one)
					if len(char) == 0 && (end+n >= limit || strings.IndexByte("\"'", text[end+n]) >= 0 || n > 1) {
						break
					}
					end += n - 1
				}
				end++
			}
			end = min(end, limit)
			if end < limit && (text[end] == '"' || text[end] == '\'') && end > at { // -p'a b'
				end = min(limit, closing(text[:limit], text[end:end+1], end+1)+1)
			}
			return at, max(end, at+1)
		}
	}
	return limit, limit
}

// beginsItem reports whether a line is an item of a YAML list.
func beginsItem(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, blanks), "- ") }

// commandOf returns the command of a program, nil if it is none of them.
func commandOf(program string) *command {
	program = path.Base(program)
	for i := range commands {
		if name, many := strings.CutSuffix(commands[i].program, "*"); program == name || many && strings.HasPrefix(program, name) {
			return &commands[i]
		}
	}
	return nil
}

// password returns where in an argument, after another one, the password begins, -1 if there is
// none.
func (c *command) password(last, argument string) int {
	for _, flag := range c.attached {
		if strings.HasPrefix(argument, flag) && len(argument) > len(flag) {
			return len(flag)
		}
	}
	for _, flag := range c.separate {
		switch {
		case last == flag && !strings.HasPrefix(argument, "-"):
			return 0
		case strings.HasPrefix(flag, "--") && strings.HasPrefix(argument, flag+"="):
			return len(flag) + 1
		case len(flag) == 2 && strings.HasPrefix(argument, flag) && len(argument) > 2:
			return 2
		}
	}
	return -1
}
