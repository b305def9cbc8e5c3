package learn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// purposes are what commands of a project are for, by how they begin. A star
// stands for the rest of a word.
var purposes = []struct {
	name, does string
	begin      []string
}{
	{"test", "runs the tests", []string{
		"go test", "gotestsum", "npm test", "npm t", "npm run test*", "pnpm test*", "pnpm run test*", "yarn test*", "yarn run test*", "bun test", "bun run test*", "npx jest", "npx vitest", "npx mocha", "npx playwright test", "npx cypress run", "pnpm vitest*", "pnpm exec vitest*", "pnpm playwright test", "pnpm exec playwright test", "pnpm cypress run", "pnpm jest", "yarn vitest*", "yarn jest", "bunx vitest*",
		"jest", "vitest", "mocha", "pytest", "python -m pytest", "python3 -m pytest", "python -m unittest", "python3 -m unittest", "uv run pytest", "poetry run pytest", "pdm run pytest", "hatch test", "tox", "nox", "cargo test", "cargo nextest run",
		"make test*", "make check", "mvn test", "mvn verify", "./mvnw test", "./mvnw verify", "gradle test", "./gradlew test", "./gradlew check", "dotnet test", "rspec", "bundle exec rspec", "rake test", "bin/rails test", "rails test", "mix test", "phpunit", "vendor/bin/phpunit", "composer test",
		"swift test", "ctest", "zig build test", "deno test", "just test*", "task test*", "bazel test", "flutter test", "sbt test", "lein test", "cabal test", "stack test", "./test.sh", "./scripts/test*", "scripts/test*", "docker compose run test*",
	}},
	{"lint", "checks the code", []string{
		"golangci-lint run", "go vet", "staticcheck", "eslint", "npx eslint", "npm run lint*", "pnpm lint*", "pnpm run lint*", "yarn lint*", "bun run lint*", "ruff check", "uv run ruff check", "poetry run ruff check", "flake8", "pylint", "cargo clippy", "make lint", "make vet", "rubocop", "bundle exec rubocop", "shellcheck", "hadolint",
		"biome check", "npx biome check", "mix credo", "just lint", "task lint", "swiftlint", "ktlint", "pre-commit run",
	}},
	{"types", "checks the types", []string{"npx tsc --noemit", "tsc --noemit", "npm run typecheck", "npm run type-check", "pnpm typecheck", "pnpm run typecheck", "pnpm tsc --noemit", "yarn typecheck", "mypy", "uv run mypy", "poetry run mypy", "pyright", "uv run pyright", "npx pyright", "make typecheck", "cargo check"}},
	{"format", "formats the code", []string{"gofmt -w", "gofmt -l", "gofumpt", "go fmt", "prettier --write", "npx prettier --write", "black", "ruff format", "uv run ruff format", "cargo fmt", "npm run format*", "pnpm format*", "pnpm run format*", "yarn format*", "make fmt", "make format", "mix format", "just fmt", "just format", "terraform fmt", "clang-format -i", "npm run fmt"}},
	{"build", "builds the project", []string{
		"go build", "npm run build*", "pnpm build*", "pnpm run build*", "yarn build*", "bun run build*", "cargo build", "make", "make build", "make all", "mvn package", "mvn install", "mvn compile", "./mvnw package", "gradle build", "./gradlew build", "./gradlew assemble*", "dotnet build", "cmake --build", "ninja", "docker build", "docker compose build",
		"zig build", "swift build", "mix compile", "bazel build", "just build", "task build", "npx next build", "npx vite build", "vite build", "hugo", "wails build", "flutter build", "python -m build", "uv build", "poetry build", "npx webpack",
	}},
	{"start", "starts the project", []string{"npm run dev", "npm start", "npm run start*", "pnpm dev", "pnpm start", "pnpm run dev", "yarn dev", "yarn start", "bun dev", "bun run dev", "mvn spring-boot:run", "./mvnw spring-boot:run", "./gradlew bootrun", "rails server", "bin/rails server", "bin/dev", "python manage.py runserver", "uv run python manage.py runserver", "make run", "make dev", "just dev", "just run", "flutter run"}},
	{"generate", "generates code", []string{"go generate", "buf generate", "make generate", "make proto", "npm run generate*", "npm run codegen", "pnpm codegen", "sqlc generate", "npx prisma generate", "protoc", "wire", "just generate"}},
	{"migrate", "migrates the database", []string{"alembic upgrade", "uv run alembic upgrade", "poetry run alembic upgrade", "npx prisma migrate*", "npx prisma db push", "pnpm prisma migrate*", "python manage.py migrate", "python3 manage.py migrate", "uv run python manage.py migrate", "rails db:migrate", "bin/rails db:migrate", "bundle exec rails db:migrate", "goose up", "migrate up", "npm run migrate*", "pnpm migrate*", "make migrate*", "npx knex migrate*", "flyway migrate", "sqlx migrate run", "diesel migration run", "mix ecto.migrate", "npx drizzle-kit*", "just migrate", "atlas migrate*"}},
	{"install", "installs what the project needs", []string{"npm ci", "npm install", "pnpm install", "pnpm i", "yarn install", "bun install", "pip install -r", "pip install -e", "uv sync", "uv pip install -r", "poetry install", "bundle install", "go mod download", "go mod tidy", "composer install", "mix deps.get", "cargo fetch", "make install", "make setup", "make deps", "pre-commit install"}},
	{"deploy", "deploys the project", []string{"kubectl apply", "helm upgrade", "helm install", "terraform apply", "terraform plan", "fly deploy", "flyctl deploy", "vercel", "npx vercel", "serverless deploy", "make deploy*", "ansible-playbook", "wrangler deploy", "npx wrangler deploy", "docker compose up", "docker-compose up", "cdk deploy", "npx cdk deploy", "pulumi up", "sam deploy", "gcloud run deploy", "just deploy", "kustomize build", "make up", "./deploy*", "./scripts/deploy*", "scripts/deploy*", "./bin/deploy*", "bin/deploy*"}},
}

// narrow arguments make a command one for a single thing.
var narrow = re(`(?:^|\s)(?:-run|-k|-t|--grep|--filter|-m|--testnamepattern|--only|--tests|-bench|--lf|--ff|--watch|--help|--version|-h|-x|--list|--dry-run|--collect-only)(?:[\s=]|$)|::|\.(?:py|ts|tsx|js|jsx|mjs|rs|go|rb|php|java|kt|swift|md|sql|exs?|c|cc|cpp|h)\b|--package[ =]|(?:^|\s)-p \S`)

// purposeOf returns what a command is for, as an index of purposes; false for
// what says nothing about the project.
func purposeOf(l line) (int, bool) {
	text := strings.ToLower(l.String())
	goal := strings.ToLower(l.goal())
	if narrow.in(text) || len(text) > 120 {
		return 0, false
	}
	for i, p := range purposes {
		for _, b := range p.begin {
			if !begins(text, b) && !begins(goal, b) {
				continue
			}
			if p.name == "install" && addsPackage(b, text) || l.fields[0] == "go" && !wholeModule(l.fields) {
				return 0, false
			}
			return i, b != "make" || text == "make"
		}
	}
	return 0, false
}

// goal is a line without the flags before what the program is to do, as in
// "mvn -q test".
func (l line) goal() string {
	if !slices.Contains([]string{"mvn", "./mvnw", "gradle", "./gradlew", "make", "npm", "pnpm", "yarn"}, l.fields[0]) {
		return l.String()
	}
	rest := l.fields[1:]
	for len(rest) > 1 && strings.HasPrefix(rest[0], "-") && !slices.Contains(apart, rest[0]) {
		rest = rest[1:]
	}
	return strings.Join(append([]string{l.fields[0]}, rest...), " ")
}

// apart are flags that a value or another place follows.
var apart = []string{"-C", "-f", "-p", "-P", "--prefix", "--filter", "--dir", "-w", "--workspace", "-pl", "--file", "-b"}

func begins(text, with string) bool {
	open, star := strings.CutSuffix(with, "*")
	rest, ok := strings.CutPrefix(text, open)
	return ok && (star || rest == "" || rest[0] == ' ')
}

// addsPackage tells "npm install left-pad" from "npm install".
func addsPackage(begin, text string) bool {
	for _, f := range strings.Fields(strings.TrimPrefix(text, begin)) {
		if !strings.HasPrefix(f, "-") && !strings.HasSuffix(begin, "-r") && !strings.HasSuffix(begin, "-e") {
			return true
		}
	}
	return false
}

// wholeModule reports whether a go command is about all of a module, or about one
// of its programs.
func wholeModule(fields []string) bool {
	for _, f := range fields[2:] {
		if strings.HasPrefix(f, "./") && !strings.HasSuffix(f, "...") && !strings.HasPrefix(f, "./cmd/") || strings.HasSuffix(f, "...") && f != "./..." {
			return false
		}
	}
	return true
}

// twice is how many turns a command must have worked in to be worth knowing.
const twice = 2

// commands are those that worked.
func commands(s *scene) {
	if s.Project == "" {
		return
	}
	for i := range s.calls {
		c := &s.calls[i]
		if well, _ := c.ran(); !well {
			continue
		}
		for _, l := range linesOf(c.command) {
			i, ok := purposeOf(l)
			where := l.where(s.Project)
			if !ok || where == "?" {
				continue
			}
			s.add(commandClaim(s.Project, l, i, where))
		}
	}
}

func commandClaim(project string, l line, i int, where string) store.Claim {
	p := purposes[i]
	title := fmt.Sprintf("`%s` %s", l, p.does)
	of := baseOf(project)
	body := fmt.Sprintf("`%s` %s of %s.", l, p.does, of)
	if !strings.HasSuffix(p.does, "tests") && !strings.HasSuffix(p.does, "code") {
		body = fmt.Sprintf("`%s` %s (%s).", l, p.does, of)
	}
	if where != "" {
		title += " in " + where
		body += " Run it in " + where + "/."
	}
	return store.Claim{
		Rule: ambry.Command, Layer: ambry.L2, Project: project, Topic: store.TopicOf(project, "command", p.name, family(l.fields), where),
		Value: l.String(), Title: title, Body: body + " It succeeded there more than once.", Sure: 0.6, Need: twice, Most: true,
	}
}

// baseOf is the last element of a path of any system.
func baseOf(project string) string { return path.Base(strings.ReplaceAll(project, `\`, "/")) }

// families are programs that do the same for a project.
var families = [][]string{{"npm", "pnpm", "yarn", "bun", "npx"}, {"pytest", "python", "python3", "uv", "poetry", "tox", "nox"}, {"mvn", "./mvnw", "gradle", "./gradlew"}, {"docker", "docker-compose"}}

func family(fields []string) string {
	for _, f := range families {
		if slices.Contains(f, fields[0]) {
			return f[0]
		}
	}
	return fields[0]
}
