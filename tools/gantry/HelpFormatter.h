#pragma once

#include <CLI/CLI.hpp>

namespace gantry::tool {

/// Help of at most 100 columns, without CLI11's notes on types: of the everyday flags for --help,
/// of all for --help-all.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { column_width(nameColumn); }

private:
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool isPositional,
                         std::vector<const CLI::Option *> options) const override;
  std::string make_option_name(const CLI::Option *option, bool isPositional) const override;
  std::string make_option_desc(const CLI::Option *option) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_subcommand(const CLI::App *sub) const override;

  static constexpr size_t nameColumn = 30;
  mutable const CLI::App *everydayOf = nullptr; ///< whose other flags are left out
  mutable size_t left = 0;                      ///< how many that were
};

} // namespace gantry::tool
