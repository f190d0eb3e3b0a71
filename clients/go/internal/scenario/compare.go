package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func checkText(step object) error {
	var directives []*pb.TurnDirective
	for _, given := range step["advice_text"].([]any) {
		directive := &pb.TurnDirective{}
		if err := parse(given, directive); err != nil {
			return err
		}
		directives = append(directives, directive)
	}
	return check(step["text"], sidemirror.AdviceText(directives))
}

func message(descriptor protoreflect.MessageDescriptor) proto.Message {
	found, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		panic(err)
	}
	return found.New().Interface()
}

func parsed(given any, descriptor protoreflect.MessageDescriptor) (proto.Message, error) {
	parsed := message(descriptor)
	return parsed, parse(given, parsed)
}

func parse(given any, into proto.Message) error {
	if given == nil {
		return nil
	}
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, into)
}

// plain is protobuf's JSON of a message; nil for none.
func plain(message proto.Message) any {
	if message == nil || !message.ProtoReflect().IsValid() {
		return nil
	}
	var plain any
	text, err := protojson.Marshal(message)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		panic(err)
	}
	return plain
}

func checkStream(expected, answers []any) error {
	rest := answers
	for _, each := range expected {
		place := slices.IndexFunc(rest, func(answer any) bool { return matches(each, answer) })
		if place < 0 {
			return fmt.Errorf("%v did not come, in that order, in %v", each, answers)
		}
		rest = rest[place+1:]
	}
	return nil
}

func check(expected, answer any) error {
	if expected != nil && !matches(expected, answer) {
		return fmt.Errorf("expected %v, got %v", expected, answer)
	}
	return nil
}

func matches(expected, actual any) bool {
	switch expected := expected.(type) {
	case nil:
		return actual == nil
	case object:
		answer, is := actual.(object)
		for key, value := range expected {
			is = is && matches(value, answer[key])
		}
		return is
	case []any:
		answer, is := actual.([]any)
		is = is && len(answer) >= len(expected)
		for place, value := range expected {
			is = is && matches(value, answer[place])
		}
		return is
	}
	return expected == actual || (expected == "*" && actual != nil)
}

func at(answer any, path string) any {
	for _, part := range strings.Split(path, ".") {
		if list, is := answer.([]any); is {
			place, _ := strconv.Atoi(part)
			answer = list[place]
		} else {
			answer = answer.(object)[part]
		}
	}
	return answer
}

var variable = regexp.MustCompile(`\$[a-z_]+`)

func (r *runner) filled(given any) any {
	switch given := given.(type) {
	case string:
		return variable.ReplaceAllStringFunc(given, func(name string) string {
			if value, is := r.variables[name[1:]]; is {
				return value
			}
			return name
		})
	case []any:
		filled := make([]any, len(given))
		for place, each := range given {
			filled[place] = r.filled(each)
		}
		return filled
	case object:
		filled := object{}
		for key, each := range given {
			filled[key] = r.filled(each)
		}
		return filled
	}
	return given
}

func text(given object, key string) string {
	value, _ := given[key].(string)
	return value
}
