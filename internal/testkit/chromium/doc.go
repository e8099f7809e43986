// Package chromium runs a real browser for tests: headless Chromium, controlled by the DevTools protocol through a pipe.
//
// A test opens pages, clicks and types like a user, and reads what is shown. Page.Log has what the pages wrote to the
// console: messages, script errors, violations of the content security policy and failed requests.
//
// The browser has its own profile and can only reach 127.0.0.1. It ends with the test, and also when the test binary is
// killed, because its pipe is closed then.
//
// The browser is the program chromium, chromium-browser or google-chrome of the PATH (Debian: chromium). With
// SWITCHBACK_TEST_CHROMIUM=required, a missing browser is a failure. Otherwise the test is skipped with the reason.
package chromium
