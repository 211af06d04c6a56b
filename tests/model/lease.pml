/*
 * Lease and release, as src/README.md describes them and src/grant, src/pool and src/ingest implement them, under crashes,
 * lost messages, lost connections and stalls. Checked by spin: `make model`.
 *
 * Processes:
 *   Api        a grant: src/grant/grant.c, grant_claim.c, grant_record.c; the response: src/api/post_transaction.c
 *   Ingester   src/ingest/lead.c (lead_take), ledger_commit.c (fence, cursor, COMMIT), src/pool/settle.c (settle)
 *   Network    clients, validators and the clock: which returned transactions a ledger includes, and when it closes
 * A process that spin does not schedule is stalled (SIGSTOP, a long pause): no step has a time limit. A crash is a step
 * that loses everything in the process, and what was not committed in the server.
 *
 * The model is finite without a bound on leases, ledgers, crashes or changes of leader, because:
 *   - Time is counted from the close time of the network's last ledger, sequence numbers from the network's, and a
 *     term is reduced to whether it is the cursor's.
 *   - An envelope that is dead and settled is forgotten: what is dead stays dead.
 *   - The network is at most LAG ledgers ahead of the cursor, and max time at most LIFE ticks away.
 *   - An API worker signs into its own envelope for each account. It signs the next one for an account only when its
 *     last one there cannot be live: promise 1 is checked with the other worker.
 *
 * Clocks are not modelled: a worker chooses any max time, also one that has passed. NOTIFY is not modelled either: a
 * worker may look for an idle account at any moment, as the slow poll does after a lost notification.
 *
 * Each mutant, one macro, must give a counter-example; see lease.test.mjs.
 */
#ifndef ACCOUNTS
#define ACCOUNTS 1
#endif
#ifndef LAG
#define LAG 2
#endif
#ifndef LIFE
#define LIFE 1
#endif
#define WORKERS 2
#define INGESTERS 2
#define NONE 7

#define ENVELOPES (ACCOUNTS * WORKERS)
#define ENVELOPE(account, worker) ((account) * WORKERS + (worker))
#define ACCOUNT_OF(envelope) ((envelope) / WORKERS)
#define LONG_PAST (-LAG - 1)
#define LONG_USED (-2)

/* A signed transaction, with its row of `leases`. */
typedef envelope_t {
    short sequence;    /* 1: the network's next; 0 and less: consumed, by it or by another */
    short max_time;    /* ticks after the network's last close time */
    bool row;          /* its lease row was committed */
    bool open;         /* settled_at IS NULL */
    bool answered;     /* returned to a client */
    bool held          /* its worker still has it */
};

/* A row of `channel_accounts`. */
typedef account_t {
    byte lease;      /* lease_hash: an envelope or NONE */
    byte locked_by;  /* the row lock of the grant that claimed it: a worker or NONE */
    short sequence   /* the last one consumed, in the database; 0: equal to the network's */
};

/* A ledger that the network closed and the cursor has not passed. */
typedef ledger_t {
    short close_time;  /* like max_time: 0 or before */
    byte included;     /* a set of envelopes */
};

envelope_t envelopes[ENVELOPES];
account_t accounts[ACCOUNTS];
ledger_t ahead[LAG];                         /* ahead[0] is cursor + 1 */
byte ahead_count;

byte cursor_lock = NONE;                     /* the cursor row's lock, and pg_try_advisory_xact_lock with it */
bool term_is[INGESTERS];                     /* the cursor's term is the one that this ingester took */
bool at_cursor[INGESTERS];                   /* it knows the last committed ledger */

bool tick;                                   /* changes with every ledger that is committed */
#ifdef FAULTS_END
bool calm;                                   /* no fault happens any more */
#else
#define calm false
#endif

/*
 * The leader's advisory lock. It may be lost at any moment, unnoticed, with its session: it excludes nobody, and safety
 * is checked without it. It keeps two leaders from taking the term from each other without end.
 */
#ifdef FAULTS_END
byte session_lock = NONE;
#define session_lock_free (session_lock == NONE)
#define lock_session session_lock = me
#define unlock_session session_lock = (session_lock == me -> NONE : session_lock)
#else
#define session_lock_free true
#define lock_session skip
#define unlock_session skip
#endif

/* The promises. A mutant is run with ONLY the promise that it breaks. */
#ifdef ONLY
#define promise(which, holds) assert((which) != ONLY || (holds))
#else
#define promise(which, holds) assert(holds)
#endif
#define ONE_LIVE 1         /* at most one transaction of an account that the network may still include */
#define ROW_FIRST 2        /* no signature is returned without its lease row */
#define NOT_EARLY 3        /* a lease that has ended is dead */
#define NOT_LOST 4         /* a lease whose ledger is committed has ended */
#define ONE_BY_ONE 5       /* the cursor moves by one ledger */
#define LEASED_IFF_OPEN 6  /* an account is leased exactly when an open lease row names it */
#define RIGHT_SEQUENCE 7   /* an idle account's sequence number is the network's, however far the cursor lags */

#define IN(set, e) (((set) >> (e)) & 1)

/* The network may still include it in some ledger, and a client has it or may still get it. */
#define LIVE(e) ((envelopes[e].row || envelopes[e].answered) && envelopes[e].sequence > 0 && envelopes[e].max_time >= 0)

inline forget(e)
{
    envelopes[e].sequence = LONG_USED;
    envelopes[e].max_time = LONG_PAST;
    envelopes[e].answered = false;
    envelopes[e].row = envelopes[e].row && envelopes[e].held
}

inline check_one_live(account)
{
    d_step {
        live = 0;
        i = 0;
        do
        :: i < WORKERS -> live = live + LIVE(ENVELOPE(account, i)); i++
        :: else -> break
        od;
        promise(ONE_LIVE, live <= 1);
        live = 0;
        i = 0
    }
}

/* The one statement of grant_record.c, and its COMMIT. */
inline commit_grant(a, e)
{
    atomic {
        envelopes[e].row = true;
        envelopes[e].open = true;
        accounts[a].lease = e;
#ifndef UNFENCED_GRANT
        accounts[a].locked_by = NONE;
#endif
        check_one_live(a)
    }
}

inline answer(a, e)
{
    atomic {
        promise(ROW_FIRST, envelopes[e].row);
        if
        :: envelopes[e].max_time > LONG_PAST -> envelopes[e].answered = true
        :: else /* forgotten */
        fi;
        check_one_live(a)
    }
}

proctype Api(byte me)
{
    byte a = NONE, i, live;

idle:
    atomic {
        a = 0;
        do
        :: a < ACCOUNTS - 1 -> a++
        :: break
        od;
        /* grant_claim.c: state active, lease_hash IS NULL, FOR UPDATE SKIP LOCKED */
        accounts[a].lease == NONE && accounts[a].locked_by == NONE && !LIVE(ENVELOPE(a, me)) ->
#ifndef UNFENCED_GRANT
        accounts[a].locked_by = me;
#endif
        promise(RIGHT_SEQUENCE, accounts[a].sequence == 0);
        forget(ENVELOPE(a, me));
        envelopes[ENVELOPE(a, me)].held = true;
        envelopes[ENVELOPE(a, me)].sequence = accounts[a].sequence + 1
    }

    /* keyd signs; max time may be correct, early or past, because no clock is trusted */
    if
    :: atomic { true -> envelopes[ENVELOPE(a, me)].max_time = -1 }
    :: atomic { true -> envelopes[ENVELOPE(a, me)].max_time = 0 }
    :: atomic { true -> envelopes[ENVELOPE(a, me)].max_time = LIFE }
    :: atomic { !calm -> goto rolled_back }  /* crash, or the session ends */
    fi;

#ifdef ANSWER_BEFORE_COMMIT
    answer(a, ENVELOPE(a, me));
#endif

    /* grant_record.c: the lease row and COMMIT are sent */
    if
    :: commit_grant(a, ENVELOPE(a, me))
    :: atomic { !calm -> goto rolled_back }  /* killed before the server received it, or refused */
    :: atomic { !calm -> goto in_doubt }     /* no response: the connection is lost */
    fi;

committed:
    if
    :: atomic { true -> answer(a, ENVELOPE(a, me)); goto done }
    :: atomic { !calm -> goto done }  /* crash, or the client has left: only the row has the envelope */
    fi;

in_doubt:
    /* The server has received COMMIT or not. grant.c asks pg_xact_status, which may return "in progress". */
    if
    :: atomic {
           true ->
           commit_grant(a, ENVELOPE(a, me));
           if
           :: goto committed  /* pg_xact_status: committed */
           :: goto done       /* unknown in time, or killed: 503, and a ledger ends the lease */
           fi
       }
#ifdef GUESS_COMMIT
    :: goto committed
#endif
    :: atomic { true -> goto rolled_back }
    fi;

rolled_back:
    atomic {
        if
        :: accounts[a].locked_by == me -> accounts[a].locked_by = NONE
        :: else
        fi;
        goto done
    }

done:
    atomic {
        envelopes[ENVELOPE(a, me)].held = false;
        if
        :: !envelopes[ENVELOPE(a, me)].open && !LIVE(ENVELOPE(a, me)) -> forget(ENVELOPE(a, me))
        :: else
        fi;
        a = NONE;
        goto idle
    }
}

/* settle.c: settles the leases that the transaction sees, by this ledger. */
#define SETTLED_BY(ledger, e) (IN(ahead[ledger].included, e) || PAST(envelopes[e].max_time, ahead[ledger].close_time))
#ifdef NEVER_EXPIRE
#define PAST(max_time, close_time) false
#elif defined(EXPIRE_AT_MAX_TIME)
#define PAST(max_time, close_time) ((max_time) <= (close_time))
#else
#define PAST(max_time, close_time) ((max_time) < (close_time))
#endif

inline settle()
{
    d_step {
        ends = 0;
        i = 0;
        do
        :: i < ENVELOPES ->
            if
            :: envelopes[i].open && ahead_count > 0 && SETTLED_BY(0, i) -> ends = ends | (1 << i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

inline release(set)
{
    d_step {
        i = 0;
        do
        :: i < ENVELOPES ->
            if
            :: IN(set, i) ->
                envelopes[i].open = false;
                accounts[ACCOUNT_OF(i)].lease = NONE;
                promise(NOT_EARLY, !LIVE(i));
                forget(i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* The account's sequence number after the ledger (settle_write.c). */
inline mirror()
{
    d_step {
        i = 0;
        do
        :: i < ENVELOPES ->
            if
            :: IN(ahead[0].included, i) -> accounts[ACCOUNT_OF(i)].sequence = envelopes[i].sequence
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* The ledger row, the cursor, the ends of leases and the sequences become visible together (ledger_commit.c: finish). */
inline commit_ledger()
{
    atomic {
        promise(ONE_BY_ONE, at_cursor[me]);
#ifndef SEQUENCE_FROM_RPC
        mirror();
#endif
#ifndef RELEASE_APART
#ifndef CATCH_UP_WITHOUT_RELEASE
        release(ends);
#else
        if
        :: ahead_count == 1 -> release(ends)
        :: else
        fi;
#endif
        ends = 0;
#endif
        d_step {
            i = 0;
            do
            :: i < ENVELOPES ->
                promise(NOT_LOST, !IN(ahead[0].included, i) || !envelopes[i].open);
                promise(LEASED_IFF_OPEN, envelopes[i].open == (accounts[ACCOUNT_OF(i)].lease == i));
                i++
            :: else -> break
            od;
            i = 0;
            do
            :: i < LAG - 1 ->
                ahead[i].included = ahead[i + 1].included;
                ahead[i].close_time = ahead[i + 1].close_time;
                i++
            :: else -> break
            od;
            ahead[LAG - 1].included = 0;
            ahead[LAG - 1].close_time = 0;
            i = 0;
            ahead_count--;
            at_cursor[1 - me] = false;
            #if defined(FAULTS_GO_ON) || defined(FAULTS_END)
            tick = !tick;
#endif
            cursor_lock = NONE
        }
    }
}

proctype Ingester(byte me)
{
    byte i, ends;

follow:
    /* lead.c: pg_try_advisory_lock, then UPDATE cursor SET term = term + 1, which waits for a running ledger transaction */
    if
    :: atomic {
           session_lock_free && cursor_lock == NONE ->
           lock_session;
           term_is[me] = true;
           term_is[1 - me] = false;
           at_cursor[me] = true
       }
    :: atomic { !calm && session_lock_free && cursor_lock == NONE -> term_is[1 - me] = false; goto drop }  /* no response */
    fi;

lead:
    /* getLedgers has a ledger after this leader's own cursor. ledger_commit.c: begin. */
    if
    :: atomic {
           (!at_cursor[me] || ahead_count > 0) && cursor_lock == NONE ->
#ifndef NO_FENCE
           if
           :: !term_is[me] -> goto drop
           :: else
           fi;
#endif
           cursor_lock = me
       }
    :: atomic { !calm -> goto drop }
    fi;

    if
    :: settle()
    :: atomic { !calm -> goto drop }
    fi;

    if
    :: atomic { true -> commit_ledger() }  /* and the response arrives */
    :: atomic { !calm -> goto drop }
    :: atomic { !calm -> goto in_doubt }
    fi;
#ifdef RELEASE_APART
    if
    :: release(ends); ends = 0
    :: atomic { !calm -> goto drop }
    fi;
#endif
    goto lead;

in_doubt:
    /* COMMIT was sent without a response: it took effect or not. The cursor shows which (retry.c: retry_keeps_lead). */
    if
    :: atomic { true -> commit_ledger(); goto drop }
    :: atomic { true -> goto drop }
    fi;

drop:
    /* A new process or session: it knows nothing and holds no lock. */
    atomic {
        ends = 0;
        if
        :: cursor_lock == me -> cursor_lock = NONE
        :: else
        fi;
        unlock_session;
        goto follow
    }
}

/* The network's sequence number increases by one: everything counted from it decreases. */
inline use_sequence(account)
{
    d_step {
        j = 0;
        do
        :: j < ENVELOPES ->
            if
            :: ACCOUNT_OF(j) == account && envelopes[j].sequence > LONG_USED ->
                envelopes[j].sequence--
            :: else
            fi;
            j++
        :: else -> break
        od;
        accounts[account].sequence = (accounts[account].sequence > LONG_USED -> accounts[account].sequence - 1 : LONG_USED);
        j = 0
    }
}

/*
 * Closes ledgers. Two in a row may have the same close time (CAP-88), not more. A ledger includes any set of valid
 * transactions that clients have, one per account. The others were not submitted, were lost, or are late, perhaps forever.
 */
proctype Network()
{
    byte i, j, included;
    bool same_second;

close:
    atomic {
        ahead_count < LAG;
        if
        :: !same_second -> same_second = true
        :: true -> /* a tick */
            d_step {
                same_second = false;
                i = 0;
                do
                :: i < ENVELOPES ->
                    if
                    :: envelopes[i].max_time > LONG_PAST -> envelopes[i].max_time--
                    :: else
                    fi;
                    i++
                :: else -> break
                od;
                i = 0;
                do
                :: i < LAG ->
                    if
                    :: i < ahead_count -> ahead[i].close_time--
                    :: else
                    fi;
                    i++
                :: else -> break
                od;
                i = 0
            }
        fi;
        included = 0;
        i = 0;
        do
        :: i < ENVELOPES ->
            if
            :: envelopes[i].answered && envelopes[i].sequence == 1 && envelopes[i].max_time >= 0 ->
                included = included | (1 << i);
                use_sequence(ACCOUNT_OF(i))
            :: true
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        ahead[ahead_count].close_time = 0;
        ahead[ahead_count].included = included;
        ahead_count++;
        included = 0;
        goto close
    }
}

#ifdef FAULTS_END
/* The session with the lock is terminated without its holder noticing; eventually all faults end. */
proctype Trouble()
{
    do
    :: atomic { session_lock != NONE -> session_lock = NONE }
    :: atomic { true -> calm = true; break }
    od
}
#endif

#ifdef FREED_BY_CLOCK
/* wallet-backend's 30 s: an account becomes idle because time has passed. */
proctype Clock()
{
    byte e;

    do
    :: atomic {
           e = 0;
           do
           :: e < ENVELOPES - 1 -> e++
           :: break
           od;
           envelopes[e].open -> envelopes[e].open = false; accounts[ACCOUNT_OF(e)].lease = NONE; e = 0
       }
    od
}
#endif

init {
    byte i;

    atomic {
        do
        :: i < ACCOUNTS -> accounts[i].lease = NONE; accounts[i].locked_by = NONE; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < ENVELOPES -> forget(i); i++
        :: else -> break
        od;
        i = 0;
        run Api(0);
        run Api(1);
        run Ingester(0);
        run Ingester(1);
        run Network();
#ifdef FAULTS_END
        run Trouble();
#endif
#ifdef FREED_BY_CLOCK
        run Clock()
#endif
    }
}

#define LEDGERS_GO_ON ([]<> tick && []<> !tick)
#define LEASES_END ([]<> (accounts[0].lease == NONE))
#define CLAIMS_END ([]<> (accounts[0].locked_by == NONE))

#ifdef FAULTS_GO_ON
/* Whatever crashes, and however often: while ledgers are committed now and then, every lease ends. */
ltl every_lease_ends { LEDGERS_GO_ON -> LEASES_END }
#endif
#ifdef FAULTS_END
/* When faults end, nothing is stuck: ledgers are committed, and leases and claims end. Under weak fairness. */
ltl nothing_stays_stuck { <> calm -> (LEDGERS_GO_ON && LEASES_END && CLAIMS_END) }
#endif
