package logs

// Collect returns the lines of a log that exist now. Lines longer than maxLine are cut
// at the end. A log that does not exist is an fs.ErrNotExist.
func Collect(path string, o Options) ([]Line, error) {
	o.Follow = false
	r, err := Open(path, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var lines []Line
	keep := func(l Line) {
		if l.Begins {
			l.Text = append([]byte(nil), l.Text...)
			lines = append(lines, l)
		}
	}
	for {
		l, ok, err := r.Next()
		if err != nil {
			return lines, err
		}
		if !ok {
			break
		}
		keep(l)
	}
	for l, ok := r.Flush(); ok; l, ok = r.Flush() {
		keep(l)
	}
	return lines, nil
}
