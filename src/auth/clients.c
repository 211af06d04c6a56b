/* Reads the table of clients from the option and the file. Who may do what is not judged here. */
#include "clients.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/json.h"

static const struct {
    const char *name;
    enum auth_scope scope;
} scope_names[] = {
    {"lease", AUTH_LEASE}, {"fee-bump", AUTH_FEE_BUMP}, {"status", AUTH_STATUS}, {"pool", AUTH_POOL}};

static enum err add_client(
    struct clients *clients, const char *name, struct clients_client **out, struct detail *detail)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t len = strlen(name);
    if (len == 0 || len >= AUTH_NAME_SIZE || strspn(name, allowed) != len)
        return detail_set(detail, ERR_CONFIG,
            "the client's name \"%.64s\" is not 1 to %d characters of A-Z a-z 0-9 . _ -", name,
            AUTH_NAME_SIZE - 1);
    for (size_t i = 0; i < clients->count; i++)
        if (text_equal(clients->list[i].name, name))
            return detail_set(detail, ERR_CONFIG, "client %s is given twice", name);
    if (clients->count == CLIENTS_MAX)
        return detail_set(detail, ERR_CONFIG, "there are more than %d clients", CLIENTS_MAX);
    clients->list = mem_grow(clients->list, clients->count + 1, sizeof clients->list[0]);
    *out = &clients->list[clients->count++];
    **out = (struct clients_client){.scopes = AUTH_ALL, .limits = limits_default};
    memcpy((*out)->name, name, len + 1);
    return ERR_OK;
}

/* The key belongs to the last client. A point of small order would verify signatures that nobody made. */
static enum err add_key(struct clients *clients, const char *address, struct detail *detail)
{
    struct public_key key;
    const char *name = clients->list[clients->count - 1].name;
    if (address == NULL || address_decode(address, &key) != ERR_OK ||
        crypto_core_ed25519_is_valid_point(key.bytes) != 1)
        return detail_set(detail, ERR_CONFIG,
            "client %s: \"%.64s\" is not the public key (G...) of an account", name,
            address == NULL ? "" : address);
    if (clients_find(clients, &key) != NULL)
        return detail_set(detail, ERR_CONFIG, "client %s: key %s is given twice", name, address);
    clients->keys = mem_grow(clients->keys, clients->key_count + 1, sizeof clients->keys[0]);
    clients->keys[clients->key_count++] = (struct clients_key){key, clients->count - 1};
    return ERR_OK;
}

/* Each key of CLIENT_AUTH_PUBLIC_KEYS is a client whose name is the key. */
static enum err read_list(struct clients *clients, const char *public_keys, struct detail *detail)
{
    AUTO_FREE char *list = mem_copy_text(public_keys);
    struct clients_client *client;
    char *rest = NULL;
    enum err e = ERR_OK;
    for (char *key = strtok_r(list, ", \t\n", &rest); e == ERR_OK && key != NULL;
         key = strtok_r(NULL, ", \t\n", &rest))
        if ((e = add_client(clients, key, &client, detail)) == ERR_OK)
            e = add_key(clients, key, detail);
    return e;
}

static enum err read_scopes(struct clients_client *client, const json_t *scopes, struct detail *detail)
{
    size_t i;
    json_t *value;
    client->scopes = 0;
    json_array_foreach(scopes, i, value)
    {
        size_t k = 0;
        while (k < ARRAY_LEN(scope_names) && !text_equal(json_string_value(value), scope_names[k].name))
            k++;
        if (k == ARRAY_LEN(scope_names))
            return detail_set(detail, ERR_CONFIG,
                "client %s: a scope must be lease, fee-bump, status or pool", client->name);
        client->scopes |= scope_names[k].scope;
    }
    if (client->scopes == 0)
        return detail_set(
            detail, ERR_CONFIG, "client %s: scopes must be a list of at least one", client->name);
    return ERR_OK;
}

/* An amount of stroops is a decimal in a string, as in all of the API; other limits are numbers. */
static enum err read_limits(const json_t *object, struct limits *out, struct detail *detail)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return detail_set(detail, ERR_CONFIG, "it must be an object");
    json_object_foreach((json_t *)object, name, value)
    {
        const enum limit limit = limit_of(name);
        const uint64_t maximum = (uint64_t)limit_maximum(limit);
        uint64_t number = 0;
        if (limit == LIMIT_NONE)
            return detail_set(detail, ERR_CONFIG, "unknown limit \"%.40s\"", name);
        enum err e = limit == LIMIT_STROOPS_PER_DAY
                         ? json_read_decimal(object, name, 1, maximum, &number, detail)
                         : json_read_number(object, name, 1, maximum, &number, detail);
        if (e != ERR_OK)
            return ERR_CONFIG;
        out->most[limit] = (int64_t)number;
    }
    return ERR_OK;
}

static enum err read_client(
    struct clients *clients, const char *name, const json_t *object, struct detail *detail)
{
    static const char *const names[] = {"keys", "scopes", "limits"};
    const json_t *keys = json_object_get(object, "keys"), *scopes = json_object_get(object, "scopes");
    struct clients_client *client;
    struct detail why = {0};
    size_t i;
    json_t *key;
    enum err e = add_client(clients, name, &client, detail);
    if (e != ERR_OK)
        return e;
    if (!json_is_object(object) || json_read_only(object, names, ARRAY_LEN(names), &why) != ERR_OK)
        return detail_set(detail, ERR_CONFIG,
            "client %s must be an object whose members are keys, scopes and limits", name);
    if (json_array_size(keys) == 0 || json_array_size(keys) > CLIENTS_KEYS_MAX)
        return detail_set(
            detail, ERR_CONFIG, "client %s: keys must be a list of 1 to %d", name, CLIENTS_KEYS_MAX);
    if (scopes != NULL && (e = read_scopes(client, scopes, detail)) != ERR_OK)
        return e;
    if (json_object_get(object, "limits") != NULL &&
        read_limits(json_object_get(object, "limits"), &client->limits, &why) != ERR_OK)
        return detail_set(detail, ERR_CONFIG, "client %s: limits: %.120s", name, why.text);
    json_array_foreach(keys, i, key)
    {
        if ((e = add_key(clients, json_string_value(key), detail)) != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* The file is the operator's, and its size is bounded: jansson's own limits are enough. */
static enum err read_file(struct clients *clients, struct bytes text, struct detail *detail)
{
    json_error_t error = {0};
    AUTO_JSON json_t *object = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    json_t *value;
    if (object == NULL)
        return detail_set(
            detail, ERR_CONFIG, "the file is not JSON: line %d: %.120s", error.line, error.text);
    if (!json_is_object(object))
        return detail_set(detail, ERR_CONFIG, "the file is not a JSON object of clients");
    json_object_foreach(object, name, value)
    {
        enum err e = read_client(clients, name, value, detail);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

enum err clients_read(
    const char *public_keys, const struct bytes *file, struct clients *out, struct detail *detail)
{
    enum err e = ERR_OK;
    *out = (struct clients){0};
    if (public_keys != NULL)
        e = read_list(out, public_keys, detail);
    if (e == ERR_OK && file != NULL)
        e = read_file(out, *file, detail);
    if (e != ERR_OK)
        clients_wipe(out);
    return e;
}

void clients_wipe(struct clients *clients)
{
    free(clients->list);
    free(clients->keys);
    *clients = (struct clients){0};
}

const struct clients_client *clients_find(const struct clients *clients, const struct public_key *key)
{
    for (size_t i = 0; i < clients->key_count; i++)
        if (public_key_equal(&clients->keys[i].key, key))
            return &clients->list[clients->keys[i].client];
    return NULL;
}
