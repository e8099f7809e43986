package switchback_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// walls lists what each package of the product under internal/, pkg/retrytopics and cmd/ imports of this module. A
// new edge needs a line here, in the same commit, so that no new dependency between packages goes unnoticed. Remove
// the line of an edge that no longer exists.
var walls = map[string]string{
	"internal/access":                      "internal/config",
	"internal/acls":                        "internal/cli internal/config internal/control internal/deadletters internal/topics",
	"internal/audit":                       "internal/kafka internal/recordbatch pkg/retrytopics/header",
	"internal/breaker":                     "internal/config pkg/classify pkg/retrytopics",
	"internal/cli":                         "internal/config",
	"internal/config":                      "internal/template pkg/classify pkg/crs pkg/envelope pkg/retrytopics/policy pkg/transform",
	"internal/console":                     "internal/access internal/audit internal/cli internal/config internal/control internal/deadletters internal/dlq internal/dlqindex internal/replay internal/replay/dryrun internal/replay/jobs internal/replay/operation internal/replay/plan internal/replay/rewrite internal/replay/states internal/status",
	"internal/consumer":                    "internal/audit internal/config internal/control internal/deadletters internal/gates internal/governance internal/kafka internal/pipeline internal/proof internal/simulate internal/sink internal/status internal/telemetry internal/topics pkg/classify pkg/idempotency pkg/retrytopics pkg/retrytopics/engine pkg/retrytopics/header pkg/retrytopics/policy pkg/transform",
	"internal/control":                     "internal/audit internal/config internal/kafka internal/proof pkg/retrytopics/header",
	"internal/deadletters":                 "internal/audit internal/dialects internal/kafka internal/recordbatch pkg/idempotency pkg/retrytopics/header",
	"internal/demo":                        "examples internal/access internal/cli internal/config internal/console internal/consumer internal/control internal/deadletters internal/devbroker internal/dlq internal/dlqindex internal/kafka internal/replay internal/replay/operation internal/replay/plan internal/topics internal/verify pkg/retrytopics/header",
	"internal/devbroker":                   "",
	"internal/dialects":                    "",
	"internal/dlq":                         "internal/audit internal/config internal/control internal/deadletters internal/dialects internal/dlqindex internal/kafka internal/replay internal/replay/dryrun internal/replay/operation internal/replay/plan pkg/classify pkg/crs pkg/retrytopics/header",
	"internal/dlqindex":                    "internal/config internal/deadletters internal/dialects internal/kafka pkg/classify pkg/retrytopics pkg/retrytopics/header",
	"internal/enrich":                      "internal/breaker internal/config internal/postgres internal/template pkg/classify pkg/retrytopics pkg/transform",
	"internal/gates":                       "internal/config pkg/classify pkg/geometry pkg/retrytopics/header pkg/transform",
	"internal/governance":                  "internal/audit internal/config internal/kafka pkg/classify pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/policy pkg/transform",
	"internal/jsonschema":                  "",
	"internal/jsontexts":                   "",
	"internal/kafka":                       "internal/config internal/dialects internal/recordbatch pkg/classify pkg/retrytopics pkg/retrytopics/header",
	"internal/keyorder":                    "pkg/retrytopics/header pkg/retrytopics/policy",
	"internal/pipeline":                    "internal/config internal/enrich internal/governance internal/jsontexts internal/refdata internal/registry internal/sink pkg/classify pkg/envelope pkg/envelope/avro pkg/idempotency pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/policy pkg/transform schemas",
	"internal/postgres":                    "internal/config pkg/classify",
	"internal/proof":                       "pkg/retrytopics pkg/retrytopics/header",
	"internal/recordbatch":                 "",
	"internal/refdata":                     "internal/config internal/kafka pkg/crs pkg/transform",
	"internal/registry":                    "internal/breaker internal/config internal/jsonschema internal/kafka pkg/classify pkg/envelope/avro pkg/retrytopics",
	"internal/replay":                      "internal/audit internal/config internal/control internal/deadletters internal/dialects internal/dlqindex internal/kafka internal/pipeline internal/proof internal/recordbatch internal/replay/dryrun internal/replay/jobs internal/replay/operation internal/replay/patch internal/replay/plan internal/replay/ramp internal/replay/rewrite internal/replay/states internal/replay/statestore internal/replay/target internal/replay/transaction internal/replay/versions internal/status internal/topics pkg/idempotency pkg/retrytopics/header",
	"internal/replay/dryrun":               "internal/config internal/control internal/deadletters internal/jsonschema internal/kafka internal/pipeline internal/recordbatch internal/replay/operation internal/replay/patch internal/replay/plan internal/replay/rewrite internal/replay/target internal/status pkg/classify pkg/envelope pkg/idempotency pkg/retrytopics pkg/retrytopics/header pkg/transform",
	"internal/replay/jobs":                 "internal/control internal/kafka internal/replay/operation internal/replay/statestore pkg/retrytopics",
	"internal/replay/operation":            "internal/audit pkg/retrytopics/header",
	"internal/replay/patch":                "",
	"internal/replay/plan":                 "internal/deadletters internal/kafka internal/replay/rewrite pkg/classify pkg/retrytopics/header",
	"internal/replay/ramp":                 "",
	"internal/replay/rewrite":              "internal/jsonschema internal/replay/patch pkg/transform",
	"internal/replay/states":               "internal/audit internal/config internal/control internal/deadletters internal/kafka internal/replay/statestore pkg/idempotency pkg/retrytopics/header",
	"internal/replay/statestore":           "internal/config internal/control internal/kafka internal/statedir pkg/retrytopics",
	"internal/replay/target":               "internal/config internal/deadletters internal/dialects internal/kafka internal/recordbatch internal/replay/operation internal/replay/plan pkg/idempotency pkg/retrytopics/header",
	"internal/replay/transaction":          "internal/audit internal/control internal/deadletters internal/kafka internal/recordbatch internal/replay/jobs internal/replay/operation internal/replay/states internal/replay/statestore internal/statedir pkg/retrytopics/header",
	"internal/replay/versions":             "internal/config internal/deadletters internal/kafka internal/pipeline internal/replay/plan pkg/idempotency pkg/retrytopics/header pkg/retrytopics/statetopic",
	"internal/sample":                      "internal/jsontexts pkg/transform",
	"internal/simulate":                    "internal/breaker internal/config internal/enrich internal/gates internal/keyorder pkg/classify pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/policy pkg/transform",
	"internal/sink":                        "internal/breaker internal/config internal/kafka internal/postgres internal/verify pkg/classify pkg/crs pkg/geometry pkg/retrytopics pkg/retrytopics/header pkg/transform",
	"internal/statedir":                    "internal/kafka internal/recordbatch",
	"internal/status":                      "internal/cli internal/config internal/control internal/deadletters internal/kafka internal/recordbatch internal/topics pkg/retrytopics/header",
	"internal/telemetry":                   "internal/breaker internal/deadletters internal/enrich internal/sink pkg/classify pkg/retrytopics pkg/retrytopics/policy",
	"internal/template":                    "",
	"internal/topics":                      "internal/config internal/kafka pkg/retrytopics",
	"internal/verify":                      "internal/audit internal/config internal/deadletters internal/kafka internal/proof internal/recordbatch internal/topics pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/statetopic",
	"pkg/retrytopics":                      "pkg/classify pkg/retrytopics/header pkg/retrytopics/internal/fit pkg/retrytopics/internal/kafka pkg/retrytopics/internal/offsets pkg/retrytopics/internal/topics pkg/retrytopics/policy",
	"pkg/retrytopics/engine":               "internal/keyorder pkg/idempotency pkg/retrytopics pkg/retrytopics/internal/instance pkg/retrytopics/internal/kafka pkg/retrytopics/internal/memory pkg/retrytopics/internal/offsets pkg/retrytopics/internal/partition pkg/retrytopics/internal/session pkg/retrytopics/internal/topics pkg/retrytopics/statetopic",
	"pkg/retrytopics/header":               "pkg/classify",
	"pkg/retrytopics/internal/attempt":     "internal/keyorder internal/recordbatch pkg/classify pkg/idempotency pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/internal/fit pkg/retrytopics/internal/kafka pkg/retrytopics/internal/memory pkg/retrytopics/internal/schedule pkg/retrytopics/policy",
	"pkg/retrytopics/internal/fit":         "internal/recordbatch pkg/classify pkg/retrytopics/header pkg/retrytopics/internal/kafka pkg/retrytopics/internal/topics",
	"pkg/retrytopics/internal/instance":    "pkg/retrytopics pkg/retrytopics/internal/attempt pkg/retrytopics/internal/kafka pkg/retrytopics/internal/memory pkg/retrytopics/internal/schedule pkg/retrytopics/internal/topics pkg/retrytopics/policy",
	"pkg/retrytopics/internal/kafka":       "internal/recordbatch pkg/classify pkg/retrytopics/internal/offsets",
	"pkg/retrytopics/internal/largebatch":  "internal/recordbatch pkg/retrytopics/header pkg/retrytopics/internal/attempt pkg/retrytopics/internal/fit",
	"pkg/retrytopics/internal/memory":      "internal/keyorder pkg/idempotency pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/internal/offsets pkg/retrytopics/policy pkg/retrytopics/statetopic",
	"pkg/retrytopics/internal/offsets":     "",
	"pkg/retrytopics/internal/partition":   "pkg/idempotency pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/internal/attempt pkg/retrytopics/internal/instance pkg/retrytopics/internal/kafka pkg/retrytopics/internal/largebatch pkg/retrytopics/internal/memory pkg/retrytopics/internal/offsets pkg/retrytopics/internal/schedule pkg/retrytopics/internal/topics pkg/retrytopics/policy pkg/retrytopics/statetopic",
	"pkg/retrytopics/internal/schedule":    "",
	"pkg/retrytopics/internal/session":     "internal/recordbatch pkg/classify pkg/retrytopics pkg/retrytopics/header pkg/retrytopics/internal/attempt pkg/retrytopics/internal/fit pkg/retrytopics/internal/instance pkg/retrytopics/internal/kafka pkg/retrytopics/internal/largebatch pkg/retrytopics/internal/memory pkg/retrytopics/internal/offsets pkg/retrytopics/internal/partition pkg/retrytopics/internal/schedule pkg/retrytopics/internal/topics pkg/retrytopics/internal/transaction pkg/retrytopics/policy pkg/retrytopics/statetopic",
	"pkg/retrytopics/internal/topics":      "pkg/retrytopics/header pkg/retrytopics/internal/kafka pkg/retrytopics/policy pkg/retrytopics/statetopic",
	"pkg/retrytopics/internal/transaction": "pkg/retrytopics pkg/retrytopics/internal/instance pkg/retrytopics/internal/kafka pkg/retrytopics/internal/memory pkg/retrytopics/internal/offsets pkg/retrytopics/internal/partition pkg/retrytopics/policy pkg/retrytopics/statetopic",
	"pkg/retrytopics/policy":               "pkg/classify pkg/retrytopics/header",
	"pkg/retrytopics/statetopic":           "internal/keyorder pkg/idempotency pkg/retrytopics/header pkg/retrytopics/internal/offsets",
	"cmd/consumer":                         "internal/acls internal/audit internal/cli internal/config internal/console internal/consumer internal/control internal/deadletters internal/demo internal/devbroker internal/gates internal/governance internal/kafka internal/pipeline internal/refdata internal/sample internal/simulate internal/sink internal/status internal/topics internal/verify pkg/classify pkg/retrytopics pkg/retrytopics/engine pkg/transform schemas",
	"cmd/replayer":                         "internal/access internal/acls internal/audit internal/cli internal/config internal/console internal/control internal/deadletters internal/dialects internal/dlq internal/dlqindex internal/kafka internal/replay internal/replay/dryrun internal/replay/jobs internal/replay/operation internal/replay/plan internal/replay/ramp internal/replay/rewrite internal/replay/states internal/replay/target internal/status pkg/classify pkg/retrytopics/header",
}

// C-6: each package under internal/, pkg/retrytopics and cmd/ imports exactly what walls lists.
func TestTree_walls(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range goFiles(t) {
		if f.test || within(f.dir, "internal/testkit") || !within(f.dir, "internal") && !within(f.dir, "cmd") && !within(f.dir, "pkg/retrytopics") {
			continue
		}
		own, _ := f.imports()
		imports[f.dir] = append(imports[f.dir], own...)
	}
	for dir, found := range imports {
		listed, known := walls[dir]
		expect.That(t, known, "%s has no line in walls", dir)
		allowed := strings.Fields(listed)
		for _, imported := range found {
			expect.That(t, slices.Contains(allowed, imported), "%s imports %s, which walls does not list", dir, imported)
		}
		for _, wanted := range allowed {
			expect.That(t, slices.Contains(found, wanted), "%s no longer imports %s: remove it from walls", dir, wanted)
		}
	}
	for dir := range walls {
		_, there := imports[dir]
		expect.That(t, there, "%s does not exist: remove its line from walls", dir)
	}
}
