package plugin

import (
	"cmp"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/report"
)

// writeFiles writes the reports of the nodes as one, a directory for each.
func (r *run) writeFiles(answers []answer) error {
	all := report.Joined{Dir: report.DirName("nodes", r.env.Now()), Time: r.env.Now()}
	for _, a := range answers {
		n := report.Node{Name: a.Node, Archive: []byte(a.text)}
		if a.Failure != nil {
			n.Err = string(a.Failure.Reason) + ": " + a.Failure.Message
		}
		all.Nodes = append(all.Nodes, n)
	}
	f, err := shell.CreateFile(r.env, cmp.Or(r.file, all.Dir+".tgz"))
	if err != nil {
		return err
	}
	return f.Finish(all.Write(f))
}
