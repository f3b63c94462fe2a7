//! The suites, as data. Sources come by the ordinary clients of Debian, npm, PyPI and cargo.

use super::results::Format;

/// The tests of one program.
pub(super) struct Suite {
    pub(super) name: &'static str,
    /// Debian packages that building or running it needs.
    pub(super) packages: &'static [&'static str],
    /// A shell text that fetches and builds it in an empty directory.
    pub(super) prepare: &'static str,
    /// A shell text that makes a copy know its own place; `$1` is the directory in which it was built.
    pub(super) adopt: &'static str,
    /// A shell text that prints the names of its pieces.
    pub(super) pieces: &'static str,
    /// A shell text that runs the piece `$1` and prints its results.
    pub(super) run: &'static str,
    pub(super) format: Format,
}

/// A source package of Debian, by sources lists of its own: the machine's stay as they are.
macro_rules! apt_source {
    ($package:literal, $options:literal) => {
        concat!(
            "mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
             for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
               test -f \"$list\" && grep -q '[/.]debian' \"$list\" || continue
               sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' \"$list\" > apt/parts/\"${list##*/}\"
             done
             apt() {
               apt-get --quiet -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=\"$PWD/apt/parts\" \
                 -o Dir::State::lists=\"$PWD/apt/lists\" -o Dir::Cache=\"$PWD/apt/cache\" \"$@\"
             }
             apt update && apt source ",
            $options,
            " ",
            $package,
            "\n rm -r apt\n"
        )
    };
}

pub(super) const SUITES: &[Suite] = &[
    Suite {
        name: "git",
        packages: &["build-essential", "dpkg-dev", "zlib1g-dev"],
        prepare: concat!(
            apt_source!("git", ""),
            "mv git-*/ git
             make --directory=git --jobs=2 --quiet NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_OPENSSL=1 NO_TCLTK=1"
        ),
        adopt: "sed --in-place \"s|$1|$PWD|g\" git/bin-wrappers/* git/GIT-BUILD-OPTIONS",
        pieces: "cd git/t && ls t0*.sh",
        run: "cd git/t && ./\"$1\"",
        format: Format::Tap,
    },
    Suite {
        name: "python",
        packages: &["python3", "libpython3.11-testsuite"],
        prepare: "mkdir tests",
        adopt: "",
        pieces: PYTHON_MODULES,
        // Its runner fails to write a report where a test fails in a thread, and prints results without one.
        run: "cd tests && rm -f \"$1.xml\"
              /usr/bin/python3 -m test --junit-xml=\"$PWD/$1.xml\" \"$1\" >&2
              grep -q '<testcase ' \"$1.xml\" && exec cat \"$1.xml\"
              /usr/bin/python3 -m test -v \"$1\" 2>&1",
        format: Format::Regrtest,
    },
    Suite {
        name: "express",
        packages: &["dpkg-dev"],
        prepare: concat!(
            apt_source!("node-express", "--download-only"),
            "mkdir express && tar --extract --strip-components=1 --directory=express --file node-express_*.orig.tar.gz
             cd express && npm install --ignore-scripts --no-audit --no-fund"
        ),
        adopt: "",
        pieces: "echo all",
        run: "cd express && node_modules/.bin/mocha --require test/support/env --check-leaks --reporter xunit test/ \
              test/acceptance/",
        format: Format::Junit,
    },
    Suite {
        name: "click",
        packages: &["python3", "python3-venv"],
        prepare: "/usr/bin/python3 -m venv venv
                  venv/bin/pip install --quiet pytest
                  venv/bin/pip download --quiet --no-deps --no-binary :all: click
                  mkdir click && tar --extract --strip-components=1 --directory=click --file click-*.tar.gz
                  venv/bin/pip install --quiet ./click",
        adopt: "",
        pieces: "echo all",
        run: "cd click && ../venv/bin/python -m pytest --quiet -p no:cacheprovider --junitxml=../all.xml tests >&2; \
              cat ../all.xml",
        format: Format::Junit,
    },
    Suite {
        name: "fd-find",
        packages: &[],
        // The sources of a program come with those of a package that depends on it.
        prepare: "export CARGO_HOME=\"$PWD/cargo\" CARGO_TARGET_DIR=\"$PWD/target\"
                  mkdir --parents asks/src && touch asks/src/lib.rs
                  printf '[package]\\nname=\"asks\"\\nversion=\"0.0.0\"\\nedition=\"2021\"\\n' > asks/Cargo.toml
                  printf '[dependencies]\\nfd-find=\"*\"\\n' >> asks/Cargo.toml
                  (cd asks && cargo vendor ../vendor)
                  mv vendor/fd-find fd-find && rm -r vendor asks fd-find/.cargo-checksum.json
                  (cd fd-find && cargo test --no-run)
                  rm -r cargo target/debug/incremental target/debug/build",
        adopt: "",
        pieces: "cd target/debug/deps && find . -maxdepth 1 -type f -executable ! -name '*.so' -printf '%f\\n' | \
                 sed 's/-[0-9a-f]*$//' | sort --unique",
        // By its name without the hash, so that the pieces have the same name whatever built them.
        run: "cd fd-find && for test in ../target/debug/deps/\"$1\"-????????????????; do \"$test\" --test; done",
        format: Format::Libtest,
    },
];

/// Modules of the standard library's tests that need no network, no display and no hour.
const PYTHON_MODULES: &str = "echo test_abc test_aifc test_argparse test_array test_ast test_asyncgen test_atexit \
    test_base64 test_bigmem test_binascii test_bisect test_bool test_bufio test_bytes test_calendar test_cmd test_code \
    test_codecs test_collections test_compileall test_configparser test_contextlib test_copy test_csv test_ctypes \
    test_dataclasses test_datetime test_dbm test_decimal test_deque test_dict test_difflib test_doctest test_email \
    test_enum test_errno test_exceptions test_fcntl test_file test_filecmp test_fileinput test_fileio test_float \
    test_fnmatch test_fork1 test_fractions test_functools test_generators test_getpass test_glob test_grp test_gzip \
    test_hashlib test_heapq test_hmac test_html test_import test_inspect test_io test_ipaddress test_itertools test_json \
    test_linecache test_list test_locale test_logging test_lzma test_mailbox test_marshal test_math test_memoryio \
    test_mimetypes test_mmap test_netrc test_os test_pathlib test_pickle test_pkgutil test_platform test_plistlib \
    test_poll test_popen test_posix test_posixpath test_pty test_pwd test_queue test_random test_re test_resource \
    test_sched test_select test_selectors test_set test_shelve test_shlex test_shutil test_signal test_socket \
    test_sqlite3 test_stat test_string test_struct test_subprocess test_sys test_tarfile test_tempfile test_textwrap \
    test_threading test_time test_tomllib test_trace test_traceback test_unicode test_unittest test_urllib test_uuid \
    test_venv test_weakref test_xml_etree test_zipfile test_zlib test_zoneinfo";
