#pragma once

#include <CLI/CLI.hpp>

namespace gantry::tool {

/// Help of at most 100 columns, without CLI11's notes on types.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { column_width(nameColumn); }

private:
  std::string make_option_name(const CLI::Option *option, bool isPositional) const override;
  std::string make_option_desc(const CLI::Option *option) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_subcommand(const CLI::App *sub) const override;

  static constexpr size_t nameColumn = 30;
};

} // namespace gantry::tool
