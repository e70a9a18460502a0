// c++ -O2 -fPIC -shared -I include -o lookup.so examples/op/lookup.cpp && oscost run --op ./lookup.so
#include <cerrno>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "oscost.h"

OSCOST_NAME("unordered_map lookup")

static std::unordered_map<std::string, std::uint64_t> *ages;

int oscost_setup() noexcept
{
    ages = new std::unordered_map<std::string, std::uint64_t>;
    for (std::uint64_t i = 0; i < 1000; i++)
        ages->emplace("person " + std::to_string(i), i);
    return 0;
}

int oscost_operation(std::uint64_t n) noexcept
{
    static const std::string name = "person 500";
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; i++) {
        // What the compiler cannot see through is looked up each time.
        const std::string *key = &name;
        __asm__ volatile("" : "+r"(key) : : "memory");
        sum += ages->at(*key);
    }
    return sum == 500 * n ? 0 : EINVAL;
}

void oscost_teardown() noexcept
{
    delete ages;
}

double oscost_expected_syscalls() noexcept
{
    return 0;
}
