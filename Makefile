# fairway. The targets a person types: build (the default), run, demo, test, lint, asan, bench, format, clean.
# BUILD=folder, CC=gcc|clang and SANITIZE=address,undefined make builds of other kinds beside the first.

BUILD ?= build
CC ?= gcc
SANITIZE ?=
PG_CONFIG ?= pg_config
export BUILD CC

# Lowest first: a module may include and link itself and what stands before it in the order of DEPS below.
MODULES := base xdr stellar keys db rpc pool ingest provision http auth api metrics

CFLAGS_COMMON := -std=c17 -D_GNU_SOURCE -g -O2 -Iinclude -pthread -fPIE \
    -Wall -Wextra -Werror -Wshadow -Wconversion -Wformat=2 -Wmissing-prototypes -Wstrict-prototypes -Wvla \
    -fstack-protector-strong -fno-omit-frame-pointer
ifeq ($(SANITIZE),)
  CFLAGS_COMMON += -D_FORTIFY_SOURCE=2
else
  CFLAGS_COMMON += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -DFAIRWAY_SANITIZED=1
endif
LDFLAGS_COMMON := -pie -pthread -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE))
ALL_CFLAGS = $(CFLAGS_COMMON) $(CFLAGS)

LIBS_fairway := -lpq -lsodium -lmicrohttpd -ljansson -lcurl
LIBS_keyd := -lsodium
INCLUDE_db := -I$(shell $(PG_CONFIG) --includedir 2>/dev/null)

sources = $(sort $(wildcard src/$(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
library = $(BUILD)/lib/lib$(1).a
PRESENT := $(foreach m,$(MODULES),$(if $(call sources,$(m)),$(m)))

# Link order: users before what they use.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
LIBRARIES := $(foreach m,$(call reverse,$(PRESENT)),$(call library,$(m)))
KEYD_LIBRARIES := $(foreach m,keys stellar xdr base,$(call library,$(m)))

FAIRWAY := $(BUILD)/fairway
KEYD := $(BUILD)/fairway-keyd

.PHONY: build
build: $(FAIRWAY) $(KEYD)

$(FAIRWAY): $(call objects,$(wildcard cmd/fairway/*.c)) $(LIBRARIES)
	$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ $(LIBS_fairway)

$(KEYD): $(call objects,$(wildcard cmd/fairway-keyd/*.c)) $(KEYD_LIBRARIES)
	$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ $(LIBS_keyd)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDE_$(word 2,$(subst /, ,$*))) -MMD -MP -c -o $@ $<

define module_library
$(call library,$(1)): $(call objects,$(call sources,$(1))) $(if $(filter db,$(1)),$(BUILD)/src/db/embedded.o)
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach m,$(PRESENT),$(eval $(call module_library,$(m))))

# The migrations travel inside the binary.
$(BUILD)/src/db/embedded.c: src/db/embed.sh $(wildcard migrations/*.sql)
	@mkdir -p $(@D)
	sh src/db/embed.sh migrations/*.sql > $@
$(BUILD)/src/db/embedded.o: $(BUILD)/src/db/embedded.c
	$(CC) $(ALL_CFLAGS) -Isrc/db -c -o $@ $<

# Unit tests: tests/unit/MODULE/test_FILE.c, linked with the module and what is below it.
UNIT := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/unit/*/test_*.c)))
INTEGRATION := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/integration/test_*.c)))
test_libraries = $(foreach m,$(call reverse,$(filter $(MODULES_TO_$(1)),$(PRESENT))),$(call library,$(m)))
define modules_to
MODULES_TO_$(1) := $(wordlist 1,$(2),$(MODULES))
endef
count := x
$(foreach m,$(MODULES),$(eval $(call modules_to,$(m),$(words $(count))))$(eval count += x))

.SECONDEXPANSION:
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $$(call test_libraries,$$(firstword $$(subst /, ,$$*)))
	$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ -lcmocka -lsodium \
	    $(if $(filter-out base xdr stellar keys,$(firstword $(subst /, ,$*))),$(LIBS_fairway))
$(BUILD)/tests/integration/%: $(BUILD)/tests/integration/%.o \
    $(call objects,$(wildcard tests/integration/support/*.c)) $(LIBRARIES)
	$(CC) $(LDFLAGS_COMMON) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_fairway)
$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests -Isrc/$(word 2,$(subst /, ,$*)) -MMD -MP -c -o $@ $<
.PRECIOUS: $(BUILD)/%.o $(BUILD)/tests/%.o

# unit-MODULE runs one module's unit tests: make unit-xdr
define unit_module
.PHONY: unit-$(1)
unit-$(1): $(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT))
	@set -e; for t in $$^; do $$$$t; done
endef
$(foreach m,$(MODULES),$(eval $(call unit_module,$(m))))

.PHONY: clean
clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
