# fairway. Targets: make (build), run, demo, test, test-all, test-debian, model, defects, mutants, lint, analyze, asan, tsan, fuzz, soak, attack, ha, bench, install,
# dist, deb, image, image-test, schema, format, clean.
# BUILD=folder, CC=gcc|clang and SANITIZE=address,undefined make other builds beside the first. V=1 shows commands.

BUILD ?= build/release
SANITIZE ?=
PG_CONFIG ?= pg_config
ifeq ($(origin CC),default)
  CC := gcc
endif
export BUILD CC

# Lowest first: the tests of a module link it and the modules before it. `make lint` checks what a module may include.
MODULES := base sandbox xdr stellar keys db limits rpc pool grant submit upkeep ingest provision http auth api

# Not every compiler and processor has all of these.
supported = $(shell echo | $(CC) -Werror $(1) -xc -c -o /dev/null - 2>/dev/null && echo $(1))
HARDENING := -fstack-protector-strong $(foreach f,-fstack-clash-protection -fcf-protection -mbranch-protection=standard \
    -ftrivial-auto-var-init=zero,$(call supported,$(f)))

CFLAGS_COMMON := -std=c17 -D_GNU_SOURCE -g $(if $(SANITIZE),-O1,-O2) -Iinclude -pthread -fPIE \
    -Wall -Wextra -Werror -Wshadow -Wconversion -Wformat=2 -Wmissing-prototypes -Wstrict-prototypes -Wvla \
    $(HARDENING) -fno-omit-frame-pointer
ifeq ($(SANITIZE),)
  CFLAGS_COMMON += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
else
  CFLAGS_COMMON += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -DFAIRWAY_SANITIZED=1
endif
LDFLAGS_COMMON := -pie -pthread -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE))
ALL_CFLAGS = $(CFLAGS_COMMON) $(CFLAGS)

LIBS_fairway := -lpq -lsodium -lmicrohttpd -ljansson -lcurl
LIBS_keyd := -lsodium
INCLUDE_db = -I$(shell $(PG_CONFIG) --includedir 2>/dev/null)

# Builds targets in a sub-make, with one job for each processor.
PARALLEL := $(MAKE) --no-print-directory -j$(shell nproc)
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1) $@")

sources = $(sort $(wildcard src/$(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
library = $(BUILD)/lib/lib$(1).a
PRESENT := $(foreach m,$(MODULES),$(if $(call sources,$(m)),$(m)))
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
LIBRARIES := $(foreach m,$(call reverse,$(PRESENT)),$(call library,$(m)))
KEYD_LIBRARIES := $(foreach m,keys stellar xdr sandbox base,$(call library,$(m)))

FAIRWAY := $(BUILD)/fairway
KEYD := $(BUILD)/fairway-keyd
NODE := tests/node_modules/.bin/node

# ---- build

.PHONY: build
build: $(FAIRWAY) $(KEYD)

$(FAIRWAY): $(call objects,$(wildcard cmd/fairway/*.c)) $(LIBRARIES)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ $(LIBS_fairway)

$(KEYD): $(call objects,$(wildcard cmd/fairway-keyd/*.c)) $(KEYD_LIBRARIES)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ $(LIBS_keyd)

# Checks the compiler and the headers of libraries first, so that one message names what is missing.
.PHONY: compiler
compiler:
	@command -v $(CC) >/dev/null || { echo "The C compiler $(CC) is missing. On Debian, \`make install-build\` installs it and the libraries."; exit 69; }
	@echo '#include <libpq-fe.h>|#include <sodium.h>|#include <microhttpd.h>|#include <jansson.h>|#include <curl/curl.h>' | tr '|' '\n' | \
	    $(CC) $(INCLUDE_db) -E -xc -o /dev/null - || { echo "A library's header is missing. On Debian, \`make install-build\` installs them all."; exit 69; }

$(BUILD)/%.o: %.c | compiler
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) $(INCLUDE_$(word 2,$(subst /, ,$*))) -MMD -MP -c -o $@ $<

define module_library
$(call library,$(1)): $(call objects,$(call sources,$(1))) $(if $(filter db ingest api,$(1)),$(BUILD)/src/$(1)/embedded.o)
	@mkdir -p $$(@D)
	@rm -f $$@
	$(Q)ar rcs $$@ $$^
endef
$(foreach m,$(PRESENT),$(eval $(call module_library,$(m))))

# The migrations, the lists of validators, the description of the API and the page of the status are embedded in the program.
$(BUILD)/src/db/embedded.c: src/db/embed.sh $(wildcard migrations/*.sql migrations/functions/*.sql)
	@mkdir -p $(@D)
	$(Q)sh src/db/embed.sh migrations > $@
$(BUILD)/src/api/embedded.c: src/api/openapi.json src/api/status.html
$(BUILD)/src/ingest/embedded.c: docker/validators-public.txt docker/validators-testnet.txt
$(BUILD)/src/api/embedded.c $(BUILD)/src/ingest/embedded.c:
	@mkdir -p $(@D)
	$(Q){ echo '#include "embedded.h"'; for file in $^; do echo "const char $$(basename $$file | tr .- __)[] = {"; \
	    od -An -v -tu1 $$file | sed 's/ \{1,\}\([0-9]*\)/\1,/g'; echo '0};'; done; } > $@
$(BUILD)/src/db/embedded.o $(BUILD)/src/ingest/embedded.o $(BUILD)/src/api/embedded.o: $(BUILD)/src/%/embedded.o: $(BUILD)/src/%/embedded.c
	$(Q)$(CC) $(ALL_CFLAGS) -Isrc/$* -c -o $@ $<

# The commit for /metrics and `fairway --version`; the file is written only when it changes. Its temporary file has the
# shell's number, because two `make run` may build in one tree. Archives of `make dist` have the file COMMIT. Without it and .git, set COMMIT=...
COMMIT ?= $(shell cat COMMIT 2>/dev/null || git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@new=$@.$$$$; printf '#define FAIRWAY_COMMIT "%s"\n' "$(COMMIT)" >$$new; if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
.PHONY: FORCE
FORCE:
$(patsubst %,$(BUILD)/%.o,src/api/get_metrics src/api/service_status cmd/fairway/main cmd/fairway/serve): $(BUILD)/commit.h
INCLUDE_api = -I$(BUILD)
INCLUDE_fairway = -I$(BUILD)

# ---- tests: tests/unit/MODULE/test_FILE.c links the module and those below it, tests/integration/test_*.c all modules

UNIT := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/unit/*/test_*.c)))
INTEGRATION := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/integration/test_*.c)))
INSPECT := $(BUILD)/tests/inspect/inspect
JUDGES := $(BUILD)/tests/xdr/xdr_judge $(INSPECT) $(BUILD)/tests/fuzz/mutants
up_to = $(if $(filter $(1),$(firstword $(2))),$(1),$(firstword $(2)) $(call up_to,$(1),$(wordlist 2,$(words $(2)),$(2))))
libraries_to = $(foreach m,$(call reverse,$(filter $(call up_to,$(1),$(MODULES)),$(PRESENT))),$(call library,$(m)))
libs_of = $(if $(filter base sandbox xdr stellar keys,$(1)),-lsodium -ljansson,$(LIBS_fairway))
test_link = $(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^

.SECONDEXPANSION:
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/tests/main.o $$(call libraries_to,$$(firstword $$(subst /, ,$$*)))
	$(call say,LINK)
	$(Q)$(test_link) -lcmocka $(call libs_of,$(firstword $(subst /, ,$*)))
SUPPORT := $(BUILD)/lib/support.a
$(SUPPORT): $(call objects,$(wildcard tests/integration/support/*.c))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)ar rcs $@ $^
$(BUILD)/tests/integration/%: $(BUILD)/tests/integration/%.o $(BUILD)/tests/main.o $(SUPPORT) $(LIBRARIES)
	$(call say,LINK)
	$(Q)$(test_link) -lcmocka $(LIBS_fairway)
$(BUILD)/tests/xdr/%: $(BUILD)/tests/xdr/%.o $(call libraries_to,xdr)
	$(Q)$(test_link) -lsodium
$(INSPECT): $(call objects,$(wildcard tests/inspect/*.c)) $(call libraries_to,stellar)
	$(Q)$(test_link) -lsodium -ljansson
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(SUPPORT) $(LIBRARIES)
	$(Q)$(test_link) $(LIBS_fairway)
$(BUILD)/tests/bench/release_network: $(BUILD)/tests/fuzz/xdr_mutator.o # makes values by the schema
# A fuzz harness: with libFuzzer when the build has it (`make fuzz`), else with a program that replays its corpus.
FUZZ := envelope ledger json jwt base64 strkey target rpc keyd keyd_client
FUZZ_PROGRAMS := $(FUZZ:%=$(BUILD)/tests/fuzz/%)
FUZZ_MAIN := $(if $(findstring fuzzer,$(SANITIZE)),,$(BUILD)/tests/fuzz/test_corpus.o)
$(FUZZ_PROGRAMS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/xdr_mutator.o $(FUZZ_MAIN) $(LIBRARIES)
	$(call say,LINK)
	$(Q)$(test_link) $(if $(FUZZ_MAIN),-lcmocka,-fsanitize=fuzzer) $(LIBS_fairway)
$(BUILD)/tests/fuzz/mutants: $(BUILD)/tests/fuzz/mutants.o $(BUILD)/tests/fuzz/xdr_mutator.o $(call libraries_to,stellar)
	$(Q)$(test_link) -lsodium
# -Wno-unused-parameter: cmocka gives each test a state, which few use.
# -iquote: src/keys/spawn.h must not take the place of <spawn.h>.
$(BUILD)/tests/%.o: tests/%.c | compiler
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-unused-parameter -iquote tests -iquote src -iquote src/$(word 2,$(subst /, ,$*)) $(INCLUDE_db) -MMD -MP -c -o $@ $<
.PRECIOUS: $(BUILD)/%.o $(BUILD)/tests/%.o

# Builds and runs one test program, and keeps the data and logs of its servers: make t T=integration/test_settle ONLY=H1, make t T=e2e/gap,
# make t T=sql/limits. tests/one.sh describes ONLY and DEBUG=1.
.PHONY: t
ONE = $(or $(wildcard tests/$(T).test.mjs tests/$(T).sql),$(BUILD)/tests/$(T))
t:
	$(if $(T),,$(error T is a program, such as unit/grant/test_queue, integration/test_settle, sql/limits or e2e/gap))
	@$(PARALLEL) -s $(if $(findstring .mjs,$(ONE))$(shell grep -ls 'vectors\.h"' tests/$(T).c),$(BUILD)/vectors.txt) $(filter $(BUILD)/%,$(ONE)) $(if $(filter clients/%,$(T)),$(GO_CLIENT)) $(if $(filter unit/%,$(T)),,build $(PRELOADED) $(JUDGES))
	@$(TEST_ENV) ONLY='$(ONLY)' DEBUG='$(DEBUG)' sh tests/one.sh $(ONE)

# Runs the unit tests of one module: make unit-xdr
define unit_module
.PHONY: unit-$(1)
unit-$(1): $(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT))
	@tests/run.sh $$^
endef
$(foreach m,$(MODULES),$(eval $(call unit_module,$(m))))

TEST_ENV = FAIRWAY_BIN=$(FAIRWAY) FAIRWAY_STOP=$(STOP) FAIRWAY_SICK_SERVER=$(SICK_SERVER) FAIRWAY_FAIL_SO=$(FAIL) FAIRWAY_MUTANTS=$(BUILD)/tests/fuzz/mutants FAIRWAY_KEYD=$(abspath $(KEYD)) FAIRWAY_VECTORS=$(BUILD)/vectors.txt \
    XDR_JUDGE=$(BUILD)/tests/xdr/xdr_judge

# The longest programs come first, so that none runs alone at the end. JOBS=1 runs one at a time. `make test` runs QUICK, test-rest the others.
LONGEST = $(patsubst %,tests/e2e/%.test.mjs,steps steps-ledger provisioning exhausted storm schemathesis limits quarantine outages failover) \
    tests/exam/judge.test.mjs tests/exam/exam.test.mjs tests/ha/ha.test.mjs tests/defects/defects.test.mjs tests/dev/run.test.mjs tests/model/lease.test.mjs \
    $(patsubst %,$(BUILD)/tests/integration/test_%,watch engine_deadlines janitor lease_property)
QUICK = $(patsubst %,tests/e2e/%.test.mjs,payments one-call duplicates failover) tests/defects/patches.test.mjs tests/exam/judge.test.mjs tests/xdr/inspect-transaction.test.mjs \
    $(patsubst %,tests/lint/%.test.mjs,ids openapi packages readme) $(wildcard tests/sql/*.test.mjs) $(INTEGRATION) $(UNIT) $(FUZZ_PROGRAMS)
TESTS = $(wildcard $(patsubst %,tests/%/*.test.mjs,e2e exam ha clients defects dev model xdr fuzz localnet/test oracle lint)) $(QUICK)
longest_first = $(filter $(1),$(LONGEST)) $(filter-out $(LONGEST),$(1))
.PHONY: test test-rest test-all test-programs
test: PROGRAMS = $(QUICK)
test-rest: PROGRAMS = $(filter-out $(QUICK),$(TESTS))
test-all: PROGRAMS = $(sort $(TESTS))
test test-rest test-all: install-test
	@$(PARALLEL) build test-programs
	@$(TEST_ENV) tests/run.sh $(call longest_first,$(PROGRAMS))
# A library that tests preload into fairway, to stop it between two statements.
STOP := $(BUILD)/tests/faults/stop.so
$(STOP): tests/faults/stop.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(filter-out -fPIE,$(ALL_CFLAGS)) $(INCLUDE_db) -fPIC -shared -o $@ $< -lpq
# A library that tests preload into PostgreSQL, to make its disk full or its clock fast.
SICK_SERVER := $(BUILD)/tests/faults/sick_server.so
$(SICK_SERVER): tests/faults/sick_server.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(filter-out -fPIE -Wmissing-prototypes,$(ALL_CFLAGS)) -fPIC -shared -o $@ $<
# A library that tests preload into fairway, to make an allocation or a system call fail.
FAIL := $(BUILD)/tests/faults/fail.so
$(FAIL): tests/faults/fail.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(filter-out -fPIE -Wmissing-prototypes,$(ALL_CFLAGS)) -U_FORTIFY_SOURCE -fPIC -shared -o $@ $<
PRELOADED := $(STOP) $(SICK_SERVER) $(FAIL)
# The client in Go. Without optimizations it takes half of the time.
GO_CLIENT := $(BUILD)/tests/clients/payment
$(GO_CLIENT): $(wildcard tests/clients/go/*)
	@mkdir -p $(@D)
	$(call say,GO  )
	$(Q)GOTOOLCHAIN=local GOFLAGS=-buildvcs=false build/packages/go/bin/go build -C tests/clients/go -gcflags=all='-N -l' -o $(abspath $@) .
test-programs: $(PRELOADED) $(GO_CLIENT) $(UNIT) $(INTEGRATION) $(FUZZ_PROGRAMS) $(JUDGES) $(BUILD)/vectors.txt
# Compiles every source, for its warnings; links nothing.
.PHONY: compile
compile: $(call objects,$(wildcard cmd/*/*.c src/*/*.c tests/*.c tests/*/*.c tests/unit/*/*.c tests/integration/*/*.c))
.DELETE_ON_ERROR:
$(BUILD)/vectors.txt: tests/stellar/vectors.mjs tests/xdr/random-values.mjs tests/package-lock.json
	@mkdir -p $(@D)
	$(Q)$(NODE) $< > $@

# Changes one thing at a time in C sources, and says what no test notices: make mutants FILES=src/stellar/frozen.c. MUTANTS_SECONDS=900.
.PHONY: mutants
mutants: install-test
	@$(NODE) tests/mutants/mutants.mjs $(FILES)

# The tests on another release of Debian, in a chroot; tests/debian.sh describes the settings.
.PHONY: test-debian
test-debian:
	@sh tests/debian.sh $(RELEASE)

# Checks the model of lease and release exhaustively, and that each of its mutants fails.
.PHONY: model
model: install-test
	@FAIRWAY_SIZE=long $(NODE) --test --test-reporter=spec tests/model/lease.test.mjs

# Adds each defect of tests/defects to a copy of the tree; its tests must fail. ONLY=H2: the defects of that name.
.PHONY: defects
defects: install-test
	@$(PARALLEL) build test-programs
	@FAIRWAY_SIZE=long FAIRWAY_DEFECTS='$(ONLY)' $(NODE) --test --test-reporter=spec tests/defects/defects.test.mjs

# asan runs C tests with clang's sanitizers, as fuzz does, because gcc's let an offset to NULL pass: all but those about what the database does,
# whose C code others run too. tsan runs the tests in which threads share memory; SUITES=all: asan's. Such builds leave out the sandbox's
# system call filter.
.PHONY: asan tsan
asan: install-test
	@$(MAKE) --no-print-directory BUILD=build/asan CC=clang SANITIZE=address,undefined SUITES=all run-c-suites
tsan: install-test
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.suppressions $(MAKE) --no-print-directory BUILD=build/tsan SANITIZE=thread run-c-suites
SUITES ?= $(addprefix integration/test_,api_flood api_health api_metrics api_prepare api_rpc api_stop \
    engine engine_cancel engine_deadlines engine_faults engine_sharing funds ingest janitor keyd keyd_life leader watch) \
    $(addprefix unit/,auth/test_reload api/test_connection_shares api/test_workers http/test_crowd http/test_deferred \
    http/test_framing http/test_hangups http/test_reply http/test_slow ingest/test_status \
    keys/test_client rpc/test_call rpc/test_loop rpc/test_rpcs)
ABOUT_SQL := $(addprefix $(BUILD)/tests/integration/test_,lease_list lease_property lease_race partitions plans store_hazards)
.PHONY: run-c-suites
run-c-suites: C_SUITES := $(if $(filter all,$(SUITES)),$(filter-out $(ABOUT_SQL),$(INTEGRATION)) $(UNIT) $(FUZZ_PROGRAMS),$(addprefix $(BUILD)/tests/,$(SUITES)))
run-c-suites:
	$(if $(filter-out $(UNIT) $(INTEGRATION) $(FUZZ_PROGRAMS),$(C_SUITES)),$(error no source: $(filter-out $(UNIT) $(INTEGRATION),$(C_SUITES))))
	@$(PARALLEL) build $(PRELOADED) $(BUILD)/vectors.txt $(C_SUITES)
	@$(TEST_ENV) tests/run.sh $(C_SUITES)

# fuzz runs libFuzzer on one harness of tests/fuzz for SECONDS: make fuzz T=envelope. fuzz-all runs each of them for 60 s. Inputs that
# libFuzzer finds interesting stay in build/fuzz/found; one that breaks a rule is build/fuzz/T-crash-...: keep it in tests/fuzz/corpus/T.
.PHONY: fuzz fuzz-all fuzz-run
SECONDS ?= 600
fuzz: install-fuzz
	$(if $(filter $(T),$(FUZZ)),,$(error T is one of: $(FUZZ)))
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzz-run
fuzz-all:
	@for t in $(FUZZ); do $(MAKE) --no-print-directory fuzz T=$$t SECONDS=60 || exit; done
fuzz-run:
	@$(PARALLEL) $(BUILD)/tests/fuzz/$(T)
	@mkdir -p $(BUILD)/found/$(T)
	$(BUILD)/tests/fuzz/$(T) -max_total_time=$(SECONDS) -timeout=20 -malloc_limit_mb=64 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
	    -verbosity=0 -artifact_prefix=$(BUILD)/$(T)- $(BUILD)/found/$(T) tests/fuzz/corpus/$(T)

# The storms at full size, then the judge of what /readyz says and which alerts fire, over all its faults. tests/faults/soak.mjs describes how to replay a run and how to
# make it smaller.
.PHONY: soak
soak: install-test
	@$(PARALLEL) build $(PRELOADED)
	@$(TEST_ENV) $(NODE) tests/faults/soak.mjs
	@$(TEST_ENV) FAIRWAY_SIZE=long $(NODE) --test --test-reporter=spec tests/exam/judge.test.mjs

# What attacks on the HTTP interface cost an honest client; tests/faults/attack.mjs describes the settings.
.PHONY: attack
attack: install-test
	@$(PARALLEL) build
	@$(TEST_ENV) $(NODE) tests/faults/attack.mjs

# Switchovers and kills of the leader of a Patroni cluster under load. HA_FAULTS=N: so many.
.PHONY: ha
ha: install-test
	@$(PARALLEL) build
	@$(TEST_ENV) $(NODE) tests/ha/ha.mjs

# One fault of a running service, chosen by a seed, and what an operator sees of it: SEED=N.
.PHONY: exam
exam: install-test
	@$(PARALLEL) build $(PRELOADED)
	@$(TEST_ENV) SEED=$(SEED) $(NODE) tests/exam/blind.mjs

# The size of the product, the pages and the tests, beside their limits.
.PHONY: figures
figures:
	@sh tests/lint/figures.sh

# Fetches Stellar's XDR definitions and generates the schema from them. `make lint` compares.
.PHONY: schema
schema: install-test
	@$(NODE) tests/xdr/generate-schema.mjs

.PHONY: lint format
FORMAT := tests/node_modules/clang-format/bin/linux_x64/clang-format
FORMATTED = $(shell find src cmd include tests -name '*.[ch]' -not -path '*/node_modules/*' -not -name 'schema.*' -not -name types.h)
lint: install-test
	@sh tests/lint/figures.sh lint
	@sh tests/lint/layers.sh
	@$(NODE) tests/lint/names.mjs
	@$(NODE) tests/lint/rows.mjs
	@$(NODE) tests/lint/sources.mjs
	@$(FORMAT) --dry-run -Werror $(FORMATTED)
	@$(NODE) tests/xdr/generate-schema.mjs --check
	@$(NODE) --test --test-reporter=dot tests/lint/openapi.test.mjs tests/lint/readme.test.mjs
	@$(PARALLEL) BUILD=build/clang CC=clang CFLAGS='-O0 -U_FORTIFY_SOURCE' compile
	@$(PARALLEL) BUILD=build/analyzer CC=gcc CFLAGS=-fanalyzer analyze
	@cppcheck $(CPPCHECK) src cmd
	@echo $(ANALYZED) | xargs -P$(shell nproc) -n16 sh tests/lint/tidy.sh
	@echo "lint: budgets, layers, names, rows, formatting, generated schema, openapi.json, clang, gcc's analyzer, cppcheck, clang-tidy: no problem found"
# Compiles what is shipped, for gcc's analyzer. The generated schema is one large table.
ANALYZED := $(filter-out src/xdr/schema.c,$(wildcard cmd/*/*.c src/*/*.c))
.PHONY: analyze
analyze: $(call objects,$(ANALYZED))
# cppcheck 2.10 does not parse some initializers, and takes an array that a called function fills for uninitialized, and _Noreturn functions
# for such that return. gcc's analyzer checks these two.
CPPCHECK := --quiet --std=c17 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 -j$(shell nproc) -Iinclude \
    --suppress=missingIncludeSystem --suppress=internalAstError --suppress=uninitvar --suppress=nullPointerRedundantCheck
format:
	$(FORMAT) -i $(FORMATTED)

# ---- a whole fairway on this machine, and one payment through it

.PHONY: run demo
run: install-run
	@$(PARALLEL) build
	@sh tests/dev/run.sh
demo:
	@[ -x $(NODE) ] || { echo "fairway is not running. Run \`make run\` first, wait until it is ready, then try again."; exit 69; }
	@$(NODE) tests/dev/demo.mjs

# ---- measurements

BENCH_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/bench/*.c)))
.PHONY: bench bench-programs
bench: install-bench
	@$(PARALLEL) build bench-programs
	@$(NODE) tests/bench/bench.mjs
bench-programs: $(BENCH_PROGRAMS)

.PHONY: install-build install-run install-test install-fuzz install-bench
install-build install-run install-test install-fuzz install-bench: install-%:
	@sh tests/install.sh $*

# ---- installation and container image

# fairway finds fairway-keyd in its own folder. systemd looks for units in /usr/local/lib and /usr/lib.
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR := $(DESTDIR)$(PREFIX)/bin
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
DOCDIR := $(DESTDIR)$(PREFIX)/share/doc/fairway
# The pages, and all that they link to.
PAGES := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md $(sort $(wildcard docker/*.md)) docker/channels/README.md docker/channels/channels.mjs docker/channels/Dockerfile docker/compose.yaml docker/fairway.env docker/haproxy.cfg docker/kubernetes.yaml docker/prometheus/rules.yml docker/prometheus/dashboard.json docker/prometheus/kubernetes.sh docker/prometheus/prometheus.yml \
    docker/prometheus/grafana-datasources.yml docker/prometheus/grafana-dashboards.yml \
    docker/roles.sql docker/seeds.mjs docker/validators-public.txt docker/validators-testnet.txt src/README.md src/api/README.md src/api/openapi.json tests/README.md tests/bench/README.md tests/hazards.md \
    tests/dev/check.mjs tests/dev/demo.mjs tests/e2e/token.mjs tests/clients/README.md tests/clients/x402/README.md tests/clients/x402/scheme.mjs tests/clients/javascript/fairway.mjs \
    tests/clients/javascript/payment.mjs tests/clients/javascript/call.mjs tests/clients/javascript/payout.mjs tests/clients/python/fairway.py \
    tests/clients/python/payment.py tests/clients/python/call.py tests/clients/go/fairway.go tests/clients/go/check.go tests/clients/go/payment.go
.PHONY: install
install: build
	install -d $(BINDIR) $(UNITDIR)
	install -m 755 $(FAIRWAY) $(KEYD) $(BINDIR)
	sed 's#/usr/local/#$(PREFIX)/#g' docker/fairway.service >$(UNITDIR)/fairway.service
	chmod 644 $(UNITDIR)/fairway.service
	for page in $(PAGES); do install -D -m 644 $$page $(DOCDIR)/$$page || exit; done

VERSION = $(shell sed -n 's/.*FAIRWAY_VERSION "\(.*\)".*/\1/p' include/base/version.h)

# The last commit's sources, as build/fairway-VERSION.tar.gz: the same bytes each time, with the commit's time, and its name in the file COMMIT.
DIST = build/fairway-$(VERSION)
.PHONY: dist
dist:
	@mkdir -p build
	@commit=$$(git describe --always --abbrev=12 HEAD) && git -c tar.umask=0022 archive --format=tar --prefix=fairway-$(VERSION)/ \
	    --add-virtual-file="fairway-$(VERSION)/COMMIT:$$commit" HEAD >$(DIST).tar
	@gzip -n -9 -f $(DIST).tar
	@sha256sum $(DIST).tar.gz

# The Debian package of this build: what `make install` installs, below /usr. Its files have the commit's time, which is also the file COMMIT's.
.PHONY: deb
deb: export SOURCE_DATE_EPOCH ?= $(shell stat -c %Y COMMIT 2>/dev/null || git log -1 --format=%ct 2>/dev/null || date +%s)
deb: build
	@rm -rf $(BUILD)/deb
	@$(MAKE) --no-print-directory -s install DESTDIR=$(BUILD)/deb/root PREFIX=/usr
	@sh docker/deb.sh $(BUILD)/deb $(VERSION)

# The container image. DOCKER=podman works too. BASE=debian@sha256:... names the base image by its digest,
# SOURCE=URL where the sources are, for the image's label.
DOCKER ?= docker
.PHONY: image
image:
	$(DOCKER) build -f docker/Dockerfile $(if $(BASE),--build-arg BASE="$(BASE)") --build-arg COMMIT="$(COMMIT)" --build-arg VERSION="$(VERSION)" $(if $(SOURCE),--build-arg SOURCE="$(SOURCE)") -t fairway .

# Builds the image without a Docker daemon, runs a payment through containers of it, and checks the other files of docker/.
.PHONY: image-test
image-test: install-run
	@sh tests/image/run.sh

.PHONY: clean
clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
