// SPDX-License-Identifier: GPL-2.0
/*
 * The same for C++: landing pads, most of them in cold parts.
 */

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define NOIPA __attribute__((noipa))

NOIPA int in_no_loop(int value) { __asm__ volatile("" : "+r"(value)); return value; }
NOIPA int in_one_loop(int value) { __asm__ volatile("" : "+r"(value)); return value; }
NOIPA int in_catch_of_loop(int value) { __asm__ volatile("" : "+r"(value)); return value; }

NOIPA int throws(int value)
{
	if (value == 42)
		throw std::runtime_error("42");
	return value;
}

NOIPA int catches(int value)
{
	try {
		return throws(value);
	} catch (const std::exception &error) {
		return in_no_loop(static_cast<int>(std::string(error.what()).size()));
	}
}

NOIPA int catches_in_loop(int value)
{
	int sum = 0;

	for (int i = 0; i < value; i++) {
		try {
			sum += throws(in_one_loop(i));
		} catch (const std::exception &error) {
			sum += in_catch_of_loop(i);
		}
	}
	return sum;
}

struct holder {
	std::map<std::string, std::vector<int>> all;
	virtual ~holder() {}
	virtual int add(const std::string &name, int value);
};

NOIPA int holder::add(const std::string &name, int value)
{
	std::string key = name + std::to_string(value);

	all[key].push_back(throws(value));
	return static_cast<int>(all.size());
}

int main(int argc, char **argv)
{
	holder holds;

	return catches(argc) + catches_in_loop(argc) + holds.add(argv[0], argc);
}
