package transform

import "errors"

// RecordExpression is an expression of the mapping's language over a record that is no feature. It may be used by many goroutines.
type RecordExpression struct{ compiled *expression }

// RecordFacts is what such an expression reads.
type RecordFacts struct {
	Value   Value             // value
	Key     string            // key; "" without one
	Headers map[string]string // headers["name"]; of several with one name the last
}

// recordEnvironment are the names of a [RecordExpression].
type recordEnvironment struct {
	Value   any            `expr:"value"`
	Key     string         `expr:"key"`
	Headers map[string]any `expr:"headers"`
	Steps   *steps         `expr:"[steps]"`
}

// CompileRecordExpression compiles text. The error is one line and says where in the text the fault is.
func CompileRecordExpression(text string) (*RecordExpression, error) {
	if text == "" {
		return nil, errors.New("the expression is empty")
	}
	compiled, err := compileIn(recordEnvironment{}, text, false)
	if err != nil {
		return nil, err
	}
	return &RecordExpression{compiled}, nil
}

// Eval runs the expression. The error is one line.
func (e *RecordExpression) Eval(facts RecordFacts) (Value, error) {
	env := recordEnvironment{Value: plainValue(facts.Value), Key: facts.Key, Headers: make(map[string]any, len(facts.Headers))}
	longest := max(longestText(facts.Value), len(facts.Key))
	for name, value := range facts.Headers {
		env.Headers[name] = value
		longest = max(longest, len(value))
	}
	if e.compiled.loops {
		env.Steps = &steps{left: maxExpressionSteps, each: 1 + longest/stepText}
	}
	return e.compiled.run(env)
}
